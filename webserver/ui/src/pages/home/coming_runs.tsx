import { Link } from "react-router";
import { FromNow } from "../../components/clock";
import { dagPath } from "../../components/links";
import { Panel } from "../../components/page";
import { TriggerButton } from "../../forms/trigger/trigger_button";
import styles from "./home.module.css";
import type { Home } from "./shape";

/** What schedules will start next. */
export function ComingRuns({ runs }: { runs: Home["coming_runs"] }) {
    return (
        <Panel title="Next runs">
            {runs.length === 0 ? (
                <p className={styles.quiet}>No DAG that is on has a run to come.</p>
            ) : (
                <ul className={styles.rows}>
                    {runs.map((run) => (
                        <li key={run.dag_id}>
                            <Link to={dagPath(run.dag_id)}>{run.dag_name}</Link>
                            <span className={styles.schedule} title={run.schedule ?? undefined}>
                                {run.schedule}
                            </span>
                            <span className={styles.end}>
                                {run.run_after !== null && <FromNow at={run.run_after} />}
                                <TriggerButton dagId={run.dag_id} look="quiet" isOneOfMany />
                            </span>
                        </li>
                    ))}
                </ul>
            )}
        </Panel>
    );
}
