import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { Link } from "react-router";
import { ticksOf } from "../../charts/time_axis";
import { useNow, useZone } from "../../components/clock";
import { dagPath } from "../../components/links";
import { dateIn } from "../../components/times";
import { placeIn, type Row, rowsOf, type Timeline } from "./model";
import { PoolLoad } from "./pool_load";
import styles from "./timeline.module.css";
import { Track } from "./track";

const LANE = 14;
// What scrolls has to be reached by the keyboard.
const REACHABLE = { tabIndex: 0, role: "region", "aria-label": "Timeline of all DAGs" };

interface ChartProps {
    timeline: Timeline;
    /** Part of the names of the DAGs that are shown. */
    search: string;
}

/** Pools and DAGs, one a row, over the same line of time. */
export function Chart({ timeline, search }: ChartProps) {
    const now = useNow();
    const zone = useZone();
    const frame = useRef<HTMLDivElement>(null);
    const since = Date.parse(timeline.since);
    const until = Date.parse(timeline.until);
    const place = useMemo(() => placeIn(since, until), [since, until]);
    const ticks = useMemo(() => ticksOf(since, until, zone, 8), [since, until, zone]);
    // Bars that grow need no more than a look every ten seconds at this scale.
    const soon = Math.ceil(now / 10_000) * 10_000;
    const all = useMemo(() => rowsOf(timeline, soon), [timeline, soon]);
    const rows = useMemo(() => {
        const wanted = search.toLowerCase();
        return all.filter((row) => row.dagId.toLowerCase().includes(wanted));
    }, [all, search]);
    const list = useVirtualizer({
        count: rows.length,
        getScrollElement: () => frame.current,
        estimateSize: (at) => heightOf(rows[at]),
        getItemKey: (at) => `${rows[at]?.dagId} ${rows[at]?.lanes}`,
        overscan: 10,
    });
    return (
        <div className={styles.frame} ref={frame} {...REACHABLE}>
            <div className={styles.axis}>
                <span className={styles.name}>
                    {dateIn(zone, timeline.since)} {zone}
                </span>
                <div className={styles.track}>
                    {ticks.map((tick) => (
                        <span key={tick.at} style={{ left: `${place(tick.at)}%` }}>
                            {tick.label}
                        </span>
                    ))}
                </div>
            </div>
            <div className={styles.body}>
                <div className={styles.lines} aria-hidden="true">
                    {ticks.map((tick) => (
                        <i key={tick.at} style={{ left: `${place(tick.at)}%` }} />
                    ))}
                    {now > since && now < until && <i className={styles.now} style={{ left: `${place(now)}%` }} />}
                </div>
                {timeline.pools.map((pool) => (
                    <PoolLoad key={pool.pool} pool={pool} nowPlace={place(now)} />
                ))}
                {rows.length === 0 && <p className={styles.none}>No DAG that ran or will run has that in its name.</p>}
                <div style={{ height: list.getTotalSize(), position: "relative" }}>
                    {list.getVirtualItems().map((item) => {
                        const row = rows[item.index];
                        return (
                            row !== undefined && (
                                <div
                                    key={item.key}
                                    className={styles.row}
                                    style={{ height: item.size, transform: `translateY(${item.start}px)` }}
                                >
                                    <Link className={styles.name} to={dagPath(row.dagId)} title={row.dagId}>
                                        {row.dagId}
                                    </Link>
                                    <Track row={row} place={place} lane={LANE} />
                                </div>
                            )
                        );
                    })}
                </div>
            </div>
        </div>
    );
}

function heightOf(row: Row | undefined): number {
    return (row?.lanes ?? 1) * LANE + 16;
}
