import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { hasFailed } from "../../../components/failures";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { foldedOf } from "../folding";
import { Legend } from "../legend";
import { useAddress, useFolding } from "../use_address";
import { versionOf } from "../version_select";
import { Canvas } from "./canvas";
import { EdgeSigns } from "./edge_signs";
import styles from "./graph.module.css";
import { GraphBar } from "./graph_bar";
import { layOut } from "./layout";
import { type GraphShape, kinOf, seenOf } from "./model";
import { SeenContext, useRunStates } from "./run_states";
import { TaskList } from "./task_list";

/** What is asked for the graph of a version, of the newest one where none is named. */
export const graphOf = (dagId: string, version: number | null) =>
    queryOptions({
        queryKey: [...keys.dag(dagId), "graph", version],
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/graph", {
                    params: { path: { dag_id: dagId }, query: { version_number: version } },
                }),
            ),
    });

/** The graph of a version of a DAG, with the states of a run where one is chosen; then it is the run's version. */
export function GraphView({ dagId, runId }: { dagId: string; runId: string | null }) {
    const [address] = useAddress();
    const run = useRunStates(dagId, runId);
    const version = versionOf(address) ?? run.data?.version_number ?? null;
    const graph = useQuery({ ...graphOf(dagId, version), enabled: runId === null || !run.isPending });
    if (hasFailed(run)) return <ErrorNote error={run.error} />;
    if (hasFailed(graph)) return <ErrorNote error={graph.error} />;
    if (graph.data === undefined) return <Skeleton height="30rem" />;
    return <Shown graph={graph.data} runId={runId} version={version} states={run.data?.tasks} />;
}

interface ShownProps {
    graph: GraphShape;
    runId: string | null;
    version: number | null;
    states: Record<string, NonNullable<ReturnType<typeof useRunStates>["data"]>["tasks"][string]> | undefined;
}

function Shown({ graph, runId, version, states }: ShownProps) {
    const [address, change] = useAddress();
    const { toggled, fold } = useFolding();
    const folded = useMemo(() => foldedOf(graph.nodes, toggled), [graph, toggled]);
    const seen = useMemo(() => seenOf(graph, folded), [graph, folded]);
    const chosen = address.get("task");
    const kin = useMemo(() => (chosen === null ? null : kinOf(seen.edges, chosen)), [seen, chosen]);
    const context = useMemo(
        () => ({
            dagId: graph.dag_id,
            runId,
            states,
            kin,
            chosen,
            fold,
            choose: (id: string) => change({ task: id === chosen ? null : id }),
        }),
        [graph, runId, states, kin, chosen, fold, change],
    );
    if (graph.nodes.length === 0) return <EmptyNote title="This version has no tasks" />;
    return (
        <SeenContext value={context}>
            <div className={styles.view} data-fills="">
                <GraphBar graph={graph} folded={folded} version={version} />
                {address.get("view") === "list" ? (
                    <TaskList graph={graph} />
                ) : (
                    <LaidOut seen={seen} layoutKey={[graph.dag_id, graph.version_number, [...folded].join("\n")]} />
                )}
                <div className={styles.signs}>
                    <Legend states={Object.values(states ?? {}).map((cell) => cell.state)} />
                    {address.get("view") !== "list" && <EdgeSigns edges={seen.edges} />}
                </div>
            </div>
        </SeenContext>
    );
}

/** Keeps the drawing before while the next one is laid out. */
function LaidOut({ seen, layoutKey }: { seen: ReturnType<typeof seenOf>; layoutKey: unknown[] }) {
    const layout = useQuery({
        queryKey: ["layout", ...layoutKey],
        queryFn: () => layOut(seen),
        placeholderData: (before) => before,
        // Maps are not compared deep, and a layout never changes.
        structuralSharing: false,
    });
    if (layout.isError) return <ErrorNote error={layout.error} />;
    if (layout.data === undefined) {
        return (
            <div className={styles.canvas}>
                <div className={styles.inner}>
                    <Skeleton height="100%" />
                </div>
            </div>
        );
    }
    return <Canvas layout={layout.data} />;
}
