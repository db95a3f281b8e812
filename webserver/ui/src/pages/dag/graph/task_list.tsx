import { useState } from "react";
import { Link } from "react-router";
import { Button } from "../../../components/button";
import { taskPath } from "../../../components/links";
import { State } from "../../../components/state";
import { type Column, Table } from "../../../components/table";
import type { GraphNode, GraphShape } from "./model";
import { type CellState, useSeen } from "./run_states";

const STEP = 200;

interface Row {
    node: GraphNode;
    cell: CellState | undefined;
    waitsFor: string[];
}

/** The graph as a list, in the order in which tasks can run: all that the drawing tells, for who cannot see it. */
export function TaskList({ graph }: { graph: GraphShape }) {
    const { states, dagId, runId } = useSeen();
    const [shown, setShown] = useState(STEP);
    const above = new Map<string, string[]>();
    for (const { source, target } of graph.edges) above.set(target, [...(above.get(target) ?? []), source]);
    const tasks = graph.nodes.filter((node) => node.kind === "task");
    const rows = tasks
        .slice(0, shown)
        .map((node) => ({ node, cell: states?.[node.id], waitsFor: above.get(node.id) ?? [] }));
    return (
        <>
            <Table
                label="Tasks in the order in which they can run"
                columns={columnsOf(dagId, runId)}
                rows={rows}
                keyOf={({ node }) => node.id}
            />
            {shown < tasks.length && (
                <Button onClick={() => setShown(shown + STEP)}>
                    Show more ({tasks.length - shown} tasks are not shown yet)
                </Button>
            )}
        </>
    );
}

function columnsOf(dagId: string, runId: string | null): Column<Row>[] {
    const name: Column<Row> = {
        head: "Task",
        cell: ({ node, cell }) =>
            runId === null || cell === undefined ? (
                node.id
            ) : (
                <Link to={taskPath(dagId, runId, node.id)}>{node.id}</Link>
            ),
    };
    const state: Column<Row> = {
        head: "State",
        cell: ({ cell }) => (cell === undefined ? "–" : <State state={cell.state} />),
    };
    const rest: Column<Row>[] = [
        { head: "Operator", cell: ({ node }) => node.operator },
        { head: "Trigger rule", cell: ({ node }) => node.trigger_rule?.replaceAll("_", " ") },
        { head: "Waits for", cell: ({ waitsFor }) => shortened(waitsFor) },
    ];
    return runId === null ? [name, ...rest] : [name, state, ...rest];
}

function shortened(names: readonly string[]): string {
    if (names.length === 0) return "nothing";
    return names.length <= 5 ? names.join(", ") : `${names.slice(0, 5).join(", ")} and ${names.length - 5} more`;
}
