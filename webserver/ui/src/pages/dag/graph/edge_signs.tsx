import styles from "./graph.module.css";
import type { SeenEdge } from "./model";

const WORDS: Partial<Record<SeenEdge["kind"], string>> = {
    setup: "from a setup to its teardown",
    schedule: "an asset whose events start runs",
    inlet: "an asset that a task reads",
    outlet: "an asset that a task writes",
};

/** What the lines mean that are not plain; of those that are seen. */
export function EdgeSigns({ edges }: { edges: readonly SeenEdge[] }) {
    const seen = new Set(edges.map((edge) => edge.kind));
    const shown = Object.entries(WORDS).filter(([kind]) => [...seen].some((one) => one === kind));
    if (shown.length === 0) return null;
    return (
        <ul className={styles.edges} aria-label="Signs of lines">
            {shown.map(([kind, words]) => (
                <li key={kind} data-kind={kind}>
                    {words}
                </li>
            ))}
        </ul>
    );
}
