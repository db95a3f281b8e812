import { Handle, type NodeProps, Position } from "@xyflow/react";
import { memo, type ReactNode } from "react";
import { Link } from "react-router";
import { taskPath } from "../../../components/links";
import { colourOf, StateCounts, StateSign, wordsOf } from "../../../components/state";
import type { FlowNode } from "./flow";
import styles from "./graph.module.css";
import type { GraphNode } from "./model";
import { type CellState, useSeen } from "./run_states";

/** A task, or a closed group in place of its tasks. */
const TaskNode = memo(function TaskNode({ data }: NodeProps<FlowNode>) {
    const { states, kin, chosen } = useSeen();
    const { node, isClosed, tasks } = data.seen;
    const cell = states?.[node.id];
    const counts = countsOf(cell);
    // How the instances stand is worth more than what the task is made of, where both do not fit.
    const kind = isClosed ? `${tasks} tasks` : counts === null ? node.operator : "";
    const facts = [kind, ...marksOf(node), triesOf(cell)].filter(Boolean).join(" · ");
    return (
        <div
            className={styles.task}
            data-closed={isClosed || undefined}
            data-chosen={chosen === node.id || undefined}
            data-faint={(kin !== null && !kin.has(node.id)) || undefined}
            style={cell === undefined ? undefined : { borderLeftColor: colourOf(cell.state) }}
        >
            <Ends />
            <Opener node={node} isClosed={isClosed} state={cell?.state}>
                {cell !== undefined && <StateSign state={cell.state} />}
                <span>{node.label}</span>
            </Opener>
            <small title={facts}>
                {facts !== "" && <span>{facts}</span>}
                {counts !== null && <StateCounts counts={counts} />}
            </small>
        </div>
    );
});

interface OpenerProps {
    node: GraphNode;
    isClosed: boolean;
    state: string | undefined;
    children: ReactNode;
}

/** What a click on a node does: a group opens, a task is opened in the run, or chosen where there is no run. */
function Opener({ node, isClosed, state, children }: OpenerProps) {
    const { dagId, runId, fold, choose } = useSeen();
    const words = `${node.id}${state === undefined ? "" : `, ${wordsOf(state)}`}`;
    if (isClosed) {
        return (
            <button type="button" aria-expanded="false" aria-label={`Group ${words}`} onClick={() => fold(node.id)}>
                <i>▸</i>
                {children}
            </button>
        );
    }
    if (runId !== null && state !== undefined) {
        return (
            <Link to={taskPath(dagId, runId, node.id)} aria-label={`Task ${words}`} title={node.id}>
                {children}
            </Link>
        );
    }
    return (
        <button type="button" aria-label={`Task ${words}`} title={node.id} onClick={() => choose(node.id)}>
            {children}
        </button>
    );
}

function marksOf(node: GraphNode): string[] {
    return [
        node.is_setup ? "setup" : "",
        node.is_teardown ? "teardown" : "",
        node.is_mapped && node.kind === "task" ? "mapped" : "",
        node.trigger_rule === null || isUsual(node) ? "" : wordsOf(node.trigger_rule),
    ];
}

/** Whether the rule is the one that such a task has where none is named. */
function isUsual({ is_teardown, trigger_rule }: GraphNode): boolean {
    return trigger_rule === (is_teardown ? "all_done_setup_success" : "all_success");
}

/** Of several instances, how many are in which state; null of one. */
function countsOf(cell: CellState | undefined): CellState["counts"] | null {
    if (cell === undefined) return null;
    const states = Object.values(cell.counts).filter((count) => count > 0);
    return cell.is_mapped || states.length > 1 ? cell.counts : null;
}

function triesOf(cell: CellState | undefined): string {
    return cell !== undefined && !cell.is_mapped && cell.tries > 1 ? `${cell.tries} tries` : "";
}

/** The frame of an open group. */
const GroupNode = memo(function GroupNode({ data }: NodeProps<FlowNode>) {
    const { states, fold } = useSeen();
    const { node } = data.seen;
    const cell = states?.[node.id];
    return (
        <div className={styles.group}>
            <button type="button" aria-expanded="true" aria-label={`Group ${node.id}`} onClick={() => fold(node.id)}>
                <i>▾</i>
                {cell !== undefined && <StateSign state={cell.state} />}
                <span>{node.label}</span>
                {node.is_mapped && <small>mapped</small>}
            </button>
        </div>
    );
});

/** An asset that a task or the schedule names. */
const AssetNode = memo(function AssetNode({ data }: NodeProps<FlowNode>) {
    const { kin } = useSeen();
    const { node } = data.seen;
    return (
        <div className={styles.asset} data-faint={(kin !== null && !kin.has(node.id)) || undefined}>
            <Ends />
            <span title={node.label}>{node.label}</span>
            <small>{node.kind === "asset" ? "asset" : "asset alias"}</small>
        </div>
    );
});

function Ends() {
    return (
        <>
            <Handle type="target" position={Position.Left} isConnectable={false} className={styles.end} />
            <Handle type="source" position={Position.Right} isConnectable={false} className={styles.end} />
        </>
    );
}

export const NODE_TYPES = { task: TaskNode, frame: GroupNode, asset: AssetNode };
