import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";

/** The attempts of a run, kept up to date by the live stream. */
export function useGantt(dagId: string, runId: string) {
    return useQuery({
        queryKey: keys.run(dagId, runId, "gantt"),
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/runs/{run_id}/gantt", {
                    params: { path: { dag_id: dagId, run_id: runId } },
                }),
            ),
    });
}
