import styles from "./state.module.css";

/** The sign of each state, so that none is told by its colour alone. */
const SIGNS: Record<string, string> = {
    none: "·",
    scheduled: "◷",
    queued: "…",
    running: "▸",
    success: "✓",
    failed: "✕",
    skipped: "⤼",
    upstream_failed: "⊘",
    up_for_retry: "↻",
    up_for_reschedule: "◔",
    deferred: "‖",
    restarting: "⟲",
    removed: "–",
};

/** Return the words of a state as the documentation has them. */
export function wordsOf(state: string): string {
    return state.replaceAll("_", " ");
}

/** Return the style sheet's variable for the colour of a state. */
export function colourOf(state: string): string {
    return state in SIGNS ? `var(--state-${state})` : "var(--state-none)";
}

/** Whether nothing happened in a state, so that it is drawn as an outline and what did happen stands out. */
export function isQuiet(state: string): boolean {
    return state === "none" || state === "removed" || !(state in SIGNS);
}

export function signOf(state: string): string {
    return SIGNS[state] ?? "?";
}

/** A state as a sign and a word. */
export function State({ state }: { state: string }) {
    return (
        <span className={styles.state}>
            <StateSign state={state} />
            {wordsOf(state)}
        </span>
    );
}

interface StateSignProps {
    state: string;
    /** What the sign says where it is of something that has no states of its own. */
    label?: string;
}

/** A state as a sign alone; its words are in its label. */
export function StateSign({ state, label = wordsOf(state) }: StateSignProps) {
    return (
        <span
            className={styles.sign}
            data-running={state === "running" || undefined}
            role="img"
            aria-label={label}
            title={label}
            data-quiet={isQuiet(state) || undefined}
            style={isQuiet(state) ? undefined : { background: colourOf(state) }}
        >
            {signOf(state)}
        </span>
    );
}

/** How many are in which state, each with its sign; states with none are left out. */
export function StateCounts({ counts }: { counts: Record<string, number> }) {
    return (
        <span className={styles.counts}>
            {Object.entries(counts)
                .filter(([, count]) => count > 0)
                .map(([state, count]) => (
                    <span key={state} className={styles.state} title={`${count} ${wordsOf(state)}`}>
                        <StateSign state={state} />
                        {count}
                    </span>
                ))}
        </span>
    );
}
