import { Link } from "react-router";
import { Panel } from "../../components/page";
import styles from "./home.module.css";
import type { Home } from "./shape";

type Pool = Home["pools"][number];

/** How full each pool is. */
export function Pools({ pools }: { pools: readonly Pool[] }) {
    return (
        <Panel title="Pools">
            <ul className={styles.pools}>
                {pools.map((pool) => (
                    <li key={pool.name}>
                        <Link to="/admin/pools">{pool.name}</Link>
                        {pool.slots === null ? (
                            <span />
                        ) : (
                            <meter
                                className={styles.meter}
                                aria-label={`Slots of ${pool.name} that are held`}
                                value={pool.occupied}
                                max={Math.max(pool.slots, 1)}
                            />
                        )}
                        <span>{usage(pool)}</span>
                    </li>
                ))}
            </ul>
        </Panel>
    );
}

function usage(pool: Pool): string {
    if (pool.slots === 0 && pool.occupied === 0)
        return pool.scheduled === 0 ? "closed" : `closed, ${pool.scheduled} waiting`;
    const held = pool.slots === null ? `${pool.occupied} held, no limit` : `${pool.occupied} of ${pool.slots} held`;
    return pool.scheduled === 0 ? held : `${held}, ${pool.scheduled} waiting`;
}
