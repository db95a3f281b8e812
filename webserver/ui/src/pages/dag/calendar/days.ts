import type { Got } from "../../../api/client";

export type CalendarShape = Got<"/ui/dags/{dag_id}/calendar">;
export type DayCounts = CalendarShape["days"][number];

/** A day of the calendar: `column` is its week, counted from the first, `row` its day of the week from Monday. */
export interface DayCell {
    day: string;
    column: number;
    row: number;
    counts: DayCounts | undefined;
}

const DAY = 86_400_000;

/** Return the cells of a year, its weeks beginning with Monday. */
export function cellsOf(year: number, days: readonly DayCounts[]): DayCell[] {
    const known = new Map(days.map((one) => [one.day, one]));
    const first = Date.UTC(year, 0, 1);
    const lead = weekday(first);
    const count = (Date.UTC(year + 1, 0, 1) - first) / DAY;
    return Array.from({ length: count }, (_, at) => {
        const day = new Date(first + at * DAY).toISOString().slice(0, 10);
        return { day, column: Math.floor((at + lead) / 7), row: (at + lead) % 7, counts: known.get(day) };
    });
}

function weekday(moment: number): number {
    return (new Date(moment).getUTCDay() + 6) % 7;
}

/** Return the columns in which the months of a year begin. */
export function monthColumns(cells: readonly DayCell[]): { month: number; column: number }[] {
    return cells
        .filter((cell) => cell.day.endsWith("-01"))
        .map((cell) => ({ month: Number(cell.day.slice(5, 7)), column: cell.column }));
}

/** What a day's cell shows: its worst outcome, and how strongly. */
export interface Outcome {
    kind: "none" | "planned" | "success" | "failed" | "running";
    /** From 0 to 3: of failures their share of the runs, of successes how many there were against the busiest day. */
    level: number;
}

/** Return what a day shows. A single failure is never hidden by many successes. */
export function outcomeOf(counts: DayCounts | undefined, busiest: number): Outcome {
    if (counts === undefined) return { kind: "none", level: 0 };
    const runs = runsOf(counts);
    const failed = counts.counts.failed ?? 0;
    if (failed > 0) return { kind: "failed", level: levelOf(failed / runs) };
    if (runs > (counts.counts.success ?? 0)) return { kind: "running", level: 2 };
    if (runs > 0) return { kind: "success", level: levelOf(runs / Math.max(busiest, 1)) };
    return counts.planned > 0 ? { kind: "planned", level: 0 } : { kind: "none", level: 0 };
}

/** Return how many runs a day had. */
export function runsOf(counts: DayCounts): number {
    return Object.values(counts.counts).reduce((sum, one) => sum + one, 0);
}

function levelOf(share: number): number {
    return Math.min(3, Math.max(1, Math.ceil(share * 3)));
}

/** Return the sums over days: runs by state, and the runs planned. */
export function sumsOf(days: readonly DayCounts[]): { counts: Record<string, number>; planned: number } {
    const counts: Record<string, number> = {};
    let planned = 0;
    for (const day of days) {
        planned += day.planned;
        for (const [state, count] of Object.entries(day.counts)) counts[state] = (counts[state] ?? 0) + count;
    }
    return { counts, planned };
}
