import { Link } from "react-router";
import { FromNow, Took } from "../../components/clock";
import { runPath } from "../../components/links";
import { Panel } from "../../components/page";
import { StateSign } from "../../components/state";
import styles from "./home.module.css";
import type { Home } from "./shape";

/** What failed in the last 24 hours, the newest first. */
export function FailedRuns({ runs }: { runs: Home["failed_runs"] }) {
    return (
        <Panel title="Failed in the last 24 hours">
            {runs.length === 0 ? (
                <p className={styles.quiet}>Nothing failed.</p>
            ) : (
                <ul className={styles.rows}>
                    {runs.map((run) => (
                        <li key={`${run.dag_id} ${run.run_id}`}>
                            <StateSign state="failed" />
                            <Link to={runPath(run.dag_id, run.run_id)}>{run.dag_name}</Link>
                            <span className={styles.quiet}>
                                after <Took from={run.started_at} to={run.ended_at} />
                            </span>
                            {run.ended_at !== null && <FromNow at={run.ended_at} />}
                        </li>
                    ))}
                </ul>
            )}
        </Panel>
    );
}
