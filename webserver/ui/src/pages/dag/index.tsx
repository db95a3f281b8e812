import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link, Outlet, useParams } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { queries } from "../../api/queries";
import { DagZoneProvider } from "../../components/clock";
import { hasFailed } from "../../components/failures";
import { ErrorNote, Skeleton } from "../../components/notes";
import styles from "./dag.module.css";
import { DagHead } from "./dag_head";
import { DagTabs } from "./dag_tabs";
import { early } from "./early";

const headOf = (dagId: string) =>
    queryOptions({
        queryKey: keys.dagOverview(dagId, "head"),
        queryFn: () => answered(api.GET("/ui/dags/{dag_id}", { params: { path: { dag_id: dagId } } })),
    });

export const loader = early(({ dagId }) => queries.prefetchQuery(headOf(dagId)));
export { shouldRevalidate } from "./early";

/** One DAG: its head, and the parts of its page. */
export function Component() {
    const { dagId = "" } = useParams();
    const dag = useQuery(headOf(dagId));
    if (hasFailed(dag)) {
        return (
            <ErrorNote error={dag.error}>
                <Link to="/dags">Go to the DAGs</Link>
            </ErrorNote>
        );
    }
    if (dag.data === undefined) return <Skeleton height="36rem" />;
    return (
        <DagZoneProvider zone={dag.data.timezone}>
            <div className={styles.dag}>
                <DagHead dag={dag.data} />
                <DagTabs dagId={dagId} />
                <Outlet context={dag.data} />
            </div>
        </DagZoneProvider>
    );
}
