import { outlineOf, type Pool, peakOf } from "./model";
import styles from "./timeline.module.css";

const HEIGHT = 30;

/** How many slots of a pool were held over the window, as far as it has passed. */
export function PoolLoad({ pool, nowPlace }: { pool: Pool; nowPlace: number }) {
    // What lies ahead is not known: the load ends where now is.
    const known = pool.held.slice(0, Math.ceil((pool.held.length * nowPlace) / 100));
    const peak = Math.max(0, ...known);
    // A pool that is hardly used is drawn by its own peak, or nothing would be seen; the words tell of how many.
    const most = pool.slots !== null && peak > pool.slots / 4 ? pool.slots : Math.max(0.1, peak * 1.3);
    const words = peakOf(known, pool.slots);
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
