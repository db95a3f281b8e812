import { State } from "../../components/state";
import styles from "./toolbar.module.css";

/** The states that can be seen above, each with its sign and word. */
export function Legend({ states, hasTries = false }: { states: Iterable<string>; hasTries?: boolean }) {
    const seen = new Set(states);
    const shown = ORDER.filter((state) => seen.has(state));
    if (shown.length === 0) return null;
    return (
        <ul className={styles.legend} aria-label="Signs of states">
            {shown.map((state) => (
                <li key={state}>
                    <State state={state} />
                </li>
            ))}
            {hasTries && (
                <li>
                    <span className={styles.try}>2</span>
                    success, at the second try
                </li>
            )}
        </ul>
    );
}

const ORDER = [
    "success",
    "running",
    "failed",
    "upstream_failed",
    "skipped",
    "up_for_retry",
    "up_for_reschedule",
    "deferred",
    "queued",
    "scheduled",
    "restarting",
    "removed",
    "none",
];
