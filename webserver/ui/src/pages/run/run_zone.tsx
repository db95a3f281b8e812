import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { DagZoneProvider } from "../../components/clock";

/** Tells the pages of a run the zone of its DAG; nothing waits for it. */
export function RunZone({ dagId, children }: { dagId: string; children: ReactNode }) {
    const dag = useQuery({
        queryKey: keys.dagOverview(dagId, "head"),
        queryFn: () => answered(api.GET("/ui/dags/{dag_id}", { params: { path: { dag_id: dagId } } })),
    });
    return <DagZoneProvider zone={dag.data?.timezone ?? "UTC"}>{children}</DagZoneProvider>;
}
