import { useId, useState } from "react";
import { Link } from "react-router";
import { Button } from "../../../components/button";
import { dagPath } from "../../../components/links";
import { SearchField } from "../../../components/search_field";
import toolbar from "../toolbar.module.css";
import { useAddress, useFolding } from "../use_address";
import { VersionSelect } from "../version_select";
import styles from "./graph.module.css";
import { type GraphNode, type GraphShape, groupsAround } from "./model";

interface GraphBarProps {
    graph: GraphShape;
    folded: ReadonlySet<string>;
    version: number | null;
}

/** What can be done with a graph: another version, find a task, close and open groups, read it as a list. */
export function GraphBar({ graph, folded, version }: GraphBarProps) {
    const [address, change] = useAddress();
    const { foldAll, toggled } = useFolding();
    const isList = address.get("view") === "list";
    const names = useId();
    const [isSought, setSought] = useState(false);
    const find = (id: string) => {
        if (id === "") return change({ task: null });
        // Part of a name chooses nothing, and leaves what is chosen.
        if (!graph.nodes.some((node) => node.id === id)) return;
        const closed = groupsAround(graph.nodes, id).filter((group) => folded.has(group));
        const fold = new Set(toggled);
        for (const group of closed) if (!fold.delete(group)) fold.add(group);
        change({ task: id, fold: [...fold] });
    };
    const chosen = graph.nodes.find((node) => node.id === address.get("task"));
    return (
        <>
            <div className={toolbar.bar}>
                <VersionSelect
                    dagId={graph.dag_id}
                    label="Version"
                    value={version}
                    otherwise="the newest"
                    onChange={(value) => change({ version: value })}
                />
                <SearchField
                    label="Find a task"
                    list={names}
                    text={address.get("task") ?? ""}
                    onFocus={() => setSought(true)}
                    onText={find}
                />
                <datalist id={names}>{isSought && <Names graph={graph} />}</datalist>
                <div className={toolbar.buttons}>
                    {!isList && graph.nodes.some((node) => node.kind === "group") && (
                        <>
                            <Button onClick={() => foldAll(graph.nodes, true)}>Close all groups</Button>
                            <Button onClick={() => foldAll(graph.nodes, false)}>Open all groups</Button>
                        </>
                    )}
                    <Button onClick={() => change({ view: isList ? null : "list" })}>
                        {isList ? "Show as a drawing" : "Show as a list"}
                    </Button>
                </div>
            </div>
            {chosen !== undefined && <Chosen dagId={graph.dag_id} node={chosen} graph={graph} />}
        </>
    );
}

/** The names that the field offers; thousands of them are not made before somebody wants them. */
function Names({ graph }: { graph: GraphShape }) {
    const tasks = graph.nodes.filter((node) => node.kind === "task");
    return tasks.slice(0, 2000).map((node) => <option key={node.id} value={node.id} />);
}

const tasksOf = (count: number): string => (count === 0 ? "no task" : `${count} task${count === 1 ? "" : "s"}`);

/** What is known of the chosen task without a run. */
function Chosen({ dagId, node, graph }: { dagId: string; node: GraphNode; graph: GraphShape }) {
    const [, change] = useAddress();
    const above = graph.edges.filter((edge) => edge.target === node.id).length;
    const below = graph.edges.filter((edge) => edge.source === node.id).length;
    return (
        <p className={styles.chosen}>
            <strong>{node.id}</strong>
            <span>{node.operator}</span>
            <span>trigger rule {node.trigger_rule?.replaceAll("_", " ")}</span>
            <span>
                waits for {tasksOf(above)}; {below === 1 ? "1 task waits" : `${tasksOf(below)} wait`} for it
            </span>
            <Link to={`${dagPath(dagId)}/tasks?task=${encodeURIComponent(node.id)}`}>How long it takes</Link>
            <Button look="quiet" onClick={() => change({ task: null })}>
                Choose none
            </Button>
        </p>
    );
}
