import { Link } from "react-router";
import { dagPath } from "../../../components/links";
import { wordsOf } from "../../../components/state";
import { lengthOf } from "../../../components/times";
import styles from "./calendar.module.css";
import { cellsOf, type DayCell, type DayCounts, monthColumns, outcomeOf, runsOf } from "./days";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS = ["Mon", "", "Wed", "", "Fri", "", "Sun"];
const SIGNS: Record<string, string> = { failed: "✕", running: "▸" };

interface YearProps {
    dagId: string;
    year: number;
    days: readonly DayCounts[];
    today: string;
    zone: string;
}

/** The days of a year in weeks. A day leads to its runs. */
export function Year({ dagId, year, days, today, zone }: YearProps) {
    const cells = cellsOf(year, days);
    const busiest = Math.max(...days.map(runsOf), 1);
    return (
        <section className={styles.frame} aria-label={`Runs in ${year} by day`}>
            <div className={styles.year}>
                {monthColumns(cells).map(({ month, column }) => (
                    <span key={month} className={styles.month} style={{ gridColumn: column + 2 }}>
                        {MONTHS[month - 1]}
                    </span>
                ))}
                {WEEKDAYS.map((name, row) =>
                    name === "" ? null : (
                        <span key={name} className={styles.weekday} style={{ gridRow: row + 2 }}>
                            {name}
                        </span>
                    ),
                )}
                {cells.map((cell) => (
                    <Day
                        key={cell.day}
                        dagId={dagId}
                        cell={cell}
                        busiest={busiest}
                        isToday={cell.day === today}
                        zone={zone}
                    />
                ))}
            </div>
        </section>
    );
}

interface DayProps {
    dagId: string;
    cell: DayCell;
    busiest: number;
    isToday: boolean;
    zone: string;
}

function Day({ dagId, cell, busiest, isToday, zone }: DayProps) {
    const { kind, level } = outcomeOf(cell.counts, busiest);
    const words = wordsFor(cell);
    const looks = {
        className: styles.day,
        "data-kind": kind,
        "data-level": level,
        "data-today": isToday || undefined,
        title: words,
        style: { gridColumn: cell.column + 2, gridRow: cell.row + 2 },
    };
    if (cell.counts === undefined || runsOf(cell.counts) === 0) return <i {...looks} />;
    return (
        <Link
            {...looks}
            aria-label={words}
            to={`${dagPath(dagId)}/runs?day=${cell.day}&zone=${encodeURIComponent(zone)}`}
        >
            {SIGNS[kind]}
        </Link>
    );
}

function wordsFor({ day, counts }: DayCell): string {
    if (counts === undefined) return `${day}: no runs`;
    const parts = Object.entries(counts.counts).map(([state, count]) => `${count} ${wordsOf(state)}`);
    if (counts.planned > 0) parts.push(`${counts.planned} planned`);
    if (counts.mean_seconds !== null) parts.push(`${lengthOf(counts.mean_seconds)} on average`);
    return `${day}: ${parts.join(", ")}`;
}
