import { FromNow } from "../../components/clock";
import { Panel } from "../../components/page";
import { StateSign } from "../../components/state";
import { lengthOf } from "../../components/times";
import styles from "./home.module.css";
import type { Home } from "./shape";

/** A beat or two late is no news. */
const LATE_SECONDS = 30;

/** Every process of the installation, and what is missing. */
export function Daemons({ home }: { home: Home }) {
    // Not everybody is told on which machines they run.
    if (home.daemons.length === 0 && home.missing_daemons.length === 0) return null;
    return (
        <Panel title="Processes">
            {home.missing_daemons.map((kind) => (
                <p key={kind} className={styles.problem}>
                    No {kind} is alive. Start one with <code>treadle {kind}</code>.
                </p>
            ))}
            {home.schedule_lag_seconds > LATE_SECONDS && (
                <p className={styles.problem}>
                    Schedules are {lengthOf(home.schedule_lag_seconds)} late: the oldest run that is due is not made
                    yet.
                </p>
            )}
            <ul className={styles.rows}>
                {home.daemons.map((daemon) => (
                    <li key={daemon.id}>
                        <StateSign
                            state={daemon.is_alive ? "success" : "failed"}
                            label={daemon.is_alive ? "alive" : "not alive"}
                        />
                        <span>{daemon.kind}</span>
                        <span className={styles.quiet}>
                            {daemon.hostname}, process {daemon.pid}
                        </span>
                        {daemon.is_alive || daemon.heartbeat_at === null ? (
                            <span>alive</span>
                        ) : (
                            <span>
                                last heard of <FromNow at={daemon.heartbeat_at} />
                            </span>
                        )}
                    </li>
                ))}
            </ul>
        </Panel>
    );
}
