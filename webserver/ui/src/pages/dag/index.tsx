import { useQuery } from "@tanstack/react-query";
import { Outlet, useParams } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { DagZoneProvider } from "../../components/clock";
import { dagPath } from "../../components/links";
import { ErrorNote, Skeleton } from "../../components/notes";
import { Tabs } from "../../components/tabs";
import styles from "./dag.module.css";
import { DagHead } from "./dag_head";

/** One DAG: its head, and the parts of its page. */
export function Component() {
    const { dagId = "" } = useParams();
    const dag = useQuery({
        queryKey: keys.dagOverview(dagId, "head"),
        queryFn: () => answered(api.GET("/ui/dags/{dag_id}", { params: { path: { dag_id: dagId } } })),
    });
    if (dag.isError) return <ErrorNote error={dag.error} />;
    if (dag.data === undefined) return <Skeleton height="36rem" />;
    const path = dagPath(dagId);
    return (
        <DagZoneProvider zone={dag.data.timezone}>
            <div className={styles.dag}>
                <DagHead dag={dag.data} />
                <Tabs label="Parts of the DAG" tabs={[{ to: path, label: "Grid", end: true }]} />
                <Outlet context={dag.data} />
            </div>
        </DagZoneProvider>
    );
}
