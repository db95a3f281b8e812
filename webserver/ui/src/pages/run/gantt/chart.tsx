import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { ticksOf } from "../../../charts/time_axis";
import { useWidth } from "../../../charts/use_width";
import { useZone } from "../../../components/clock";
import { Axis, Lines } from "./axis";
import { CriticalPath } from "./critical_path";
import styles from "./gantt.module.css";
import type { GanttRow, GanttShape } from "./model";
import { RowName } from "./row_name";
import { Track } from "./track";
import { useDrag } from "./use_drag";
import type { Window } from "./zoom";

/** The height of a row, in pixels; the style sheet has the same. */
export const ROW = 28;
/** How much room a tick needs. */
const TICK = 84;
const WORDS = 60;
const NAMES = 260;

interface ChartProps {
    run: GanttShape;
    rows: readonly GanttRow[];
    now: number;
    eta: number | null;
    shown: Window;
    whole: Window;
    onShow: (part: Window) => void;
    onFold: (id: string) => void;
}

/** The rows and their bars over time; of many rows only those that are seen are drawn. */
export function Chart({ run, rows, now, eta, shown, whole, onShow, onFold }: ChartProps) {
    const frame = useRef<HTMLDivElement>(null);
    const axis = useRef<HTMLDivElement>(null);
    const zone = useZone();
    const width = useWidth(frame, 900);
    const place = (at: number) => (100 * (at - shown.from)) / (shown.to - shown.from);
    const room = width - NAMES;
    // A time that would be cut off at the end is left out.
    const ticks = ticksOf(shown.from, shown.to, zone, Math.max(2, Math.floor(room / TICK))).filter(
        (tick) => place(tick.at) < 100 - (100 * WORDS) / room,
    );
    const chosen = useDrag({ frame, axis, shown, whole, onShow });
    const down = useVirtualizer({
        count: rows.length,
        getScrollElement: () => frame.current,
        estimateSize: () => ROW,
        overscan: 10,
    });
    const seen = down.getVirtualItems();
    const first = seen[0]?.index ?? 0;
    const last = seen.at(-1)?.index ?? 0;
    const height = down.getTotalSize();
    return (
        <section ref={frame} className={styles.frame} aria-label="Gantt chart of the run">
            <Axis axis={axis} ticks={ticks} place={place} chosen={chosen} zone={zone} />
            <div className={styles.names} style={{ height, paddingTop: first * ROW }}>
                {rows.slice(first, last + 1).map((row) => (
                    <RowName key={row.id} row={row} onFold={onFold} />
                ))}
            </div>
            <div className={styles.tracks} style={{ height }}>
                <Lines ticks={ticks} place={place} chosen={chosen} eta={eta} />
                <div style={{ paddingTop: first * ROW }}>
                    {rows.slice(first, last + 1).map((row) => (
                        <Track key={row.id} run={run} row={row} now={now} place={place} />
                    ))}
                </div>
                <CriticalPath run={run} rows={rows} now={now} place={place} height={height} />
            </div>
        </section>
    );
}
