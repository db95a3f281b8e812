import { Link } from "react-router";
import { runPath } from "./links";
import styles from "./run_bars.module.css";
import { colourOf, wordsOf } from "./state";
import { lengthOf, secondsBetween } from "./times";

interface Run {
    run_id: string;
    state: string;
    started_at: string | null;
    ended_at: string | null;
}

/** A DAG's last runs, the newest at the right, each as high as it took long. */
export function RunBars({ dagId, runs }: { dagId: string; runs: readonly Run[] }) {
    const now = Date.now();
    const lengths = runs.map((run) => secondsBetween(run.started_at, run.ended_at, now) ?? 0);
    const longest = Math.max(...lengths, 0.001);
    return (
        <span className={styles.bars}>
            {runs
                .map((run, at) => {
                    const words = `${run.run_id}: ${wordsOf(run.state)}, ${lengthOf(lengths[at])}`;
                    return (
                        <Link
                            key={run.run_id}
                            to={runPath(dagId, run.run_id)}
                            title={words}
                            aria-label={words}
                            data-state={run.state}
                        >
                            <i
                                style={{
                                    height: `${Math.max(15, (100 * (lengths[at] ?? 0)) / longest)}%`,
                                    background: colourOf(run.state),
                                }}
                            />
                        </Link>
                    );
                })
                .reverse()}
        </span>
    );
}
