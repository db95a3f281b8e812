import { useQuery } from "@tanstack/react-query";
import { useOutletContext } from "react-router";
import { answered, api, type Got } from "../../api/client";
import { keys } from "../../api/keys";

export type Run = Got<"/ui/dags/{dag_id}/runs/{run_id}">;
export type RunStates = Got<"/ui/dags/{dag_id}/runs/{run_id}/states">;
export type Cell = RunStates["tasks"][string];
export type TaskRow = Got<"/ui/dags/{dag_id}/grid">["rows"][number];

/** Return the run whose page this is; for what stands below `pages/run`. */
export function useRun(): Run {
    return useOutletContext<Run>();
}

/** One run, kept up to date by the live stream. */
export function useRunQuery(dagId: string, runId: string) {
    return useQuery({
        queryKey: keys.run(dagId, runId, "head"),
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/runs/{run_id}", { params: { path: { dag_id: dagId, run_id: runId } } }),
            ),
    });
}

/** The state of each task and group of a run. */
export function useRunStates(dagId: string, runId: string) {
    return useQuery({
        queryKey: keys.run(dagId, runId, "states"),
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/runs/{run_id}/states", {
                    params: { path: { dag_id: dagId, run_id: runId } },
                }),
            ),
    });
}

/** The tasks and groups of a run's own version of the DAG, in order. */
export function useRunRows({ dag_id: dagId, run_id: runId, version_number: version }: Run) {
    return useQuery({
        queryKey: ["dag-rows", dagId, runId, version],
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/grid", {
                    params: { path: { dag_id: dagId }, query: { run_id: [runId], version_number: version, limit: 1 } },
                }),
            ),
        select: (grid) => grid.rows,
    });
}
