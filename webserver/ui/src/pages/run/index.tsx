import { Link, Outlet, useParams } from "react-router";
import { hasFailed } from "../../components/failures";
import { dagPath, runPath } from "../../components/links";
import { ErrorNote, Skeleton } from "../../components/notes";
import { Tabs } from "../../components/tabs";
import styles from "./run.module.css";
import { RunHead } from "./run_head";
import { RunZone } from "./run_zone";
import { useRunQuery } from "./shape";

/** One run: its head, and the parts of its page. */
export function Component() {
    const { dagId = "", runId = "" } = useParams();
    const run = useRunQuery(dagId, runId);
    if (hasFailed(run)) {
        return (
            <ErrorNote error={run.error}>
                <Link to={dagPath(dagId)}>Go to the DAG</Link>
            </ErrorNote>
        );
    }
    if (run.data === undefined) return <Skeleton height="36rem" />;
    const path = runPath(dagId, runId);
    const tabs = [
        { to: path, label: "Tasks", end: true },
        { to: `${path}/graph`, label: "Graph" },
        { to: `${path}/gantt`, label: "Gantt" },
        { to: `${path}/events`, label: "Events" },
    ];
    return (
        <RunZone dagId={dagId}>
            <div className={styles.page} key={`${dagId}/${runId}`}>
                <RunHead run={run.data} />
                <Tabs label="Parts of the run" tabs={tabs} />
                <Outlet context={run.data} />
            </div>
        </RunZone>
    );
}
