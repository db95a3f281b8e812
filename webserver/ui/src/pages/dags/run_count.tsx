import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { counted } from "../../components/counted";

/** How many runs a DAG has: what goes with it. */
export function RunCount({ dagId }: { dagId: string }) {
    const runs = useQuery({
        queryKey: [...keys.runs, "count", dagId],
        queryFn: () =>
            answered(
                api.GET("/api/v2/dags/{dag_id}/dagRuns", { params: { path: { dag_id: dagId }, query: { limit: 1 } } }),
            ),
        select: (found) => found.total_entries,
    });
    if (runs.data === undefined || runs.data === null) return null;
    return counted(runs.data, "run");
}
