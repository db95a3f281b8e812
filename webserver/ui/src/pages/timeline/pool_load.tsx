import { outlineOf, type Pool } from "./model";
import styles from "./timeline.module.css";

const HEIGHT = 30;

/** How many slots of a pool were held over the window, as far as it has passed. */
export function PoolLoad({ pool, nowPlace }: { pool: Pool; nowPlace: number }) {
    // What lies ahead is not known: the load ends where now is.
    const known = pool.held.slice(0, Math.ceil((pool.held.length * nowPlace) / 100));
    const peak = Math.max(0, ...known);
    const most = pool.slots ?? Math.max(1, peak);
    const words = `at most ${peak.toFixed(1)}${pool.slots === null ? "" : ` of ${pool.slots}`} slots`;
    return (
        <div className={styles.pool}>
            <span className={styles.name} title={pool.pool}>
                {pool.pool} <small>{words}</small>
            </span>
            <div className={styles.track}>
                <svg
                    role="img"
                    aria-label={`Load of pool ${pool.pool}: ${words}`}
                    viewBox={`0 0 100 ${HEIGHT}`}
                    preserveAspectRatio="none"
                    style={{ width: `${nowPlace}%` }}
                >
                    <polygon points={outlineOf(known, most, HEIGHT)} />
                </svg>
            </div>
        </div>
    );
}
