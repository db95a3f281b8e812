import { ROW } from "./chart";
import styles from "./gantt.module.css";
import { criticalLinks, type GanttRow, type GanttShape } from "./model";

interface CriticalPathProps {
    run: GanttShape;
    rows: readonly GanttRow[];
    now: number;
    place: (at: number) => number;
    height: number;
}

/** Lines from each task of the critical path to the next. */
export function CriticalPath({ run, rows, now, place, height }: CriticalPathProps) {
    return (
        <svg className={styles.path} width="100%" height={height} aria-hidden="true">
            {criticalLinks(run, rows, now).map((link) => {
                const x = `${place(link.until)}%`;
                const from = link.fromRow * ROW + ROW / 2;
                const to = link.toRow * ROW + ROW / 2;
                return (
                    <g key={`${link.fromRow} ${link.toRow}`}>
                        <line x1={`${place(link.at)}%`} x2={x} y1={from} y2={from} />
                        <line x1={x} x2={x} y1={from} y2={to} />
                    </g>
                );
            })}
        </svg>
    );
}
