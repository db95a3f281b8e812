import type { Got } from "../../api/client";

export type Timeline = Got<"/ui/timeline">;
export type TimelineRun = Timeline["runs"][number];
export type Pool = Timeline["pools"][number];

/** A run between two moments (milliseconds), in a lane of its DAG's row in which nothing else is at that time. */
export interface Bar {
    run: TimelineRun;
    from: number;
    to: number;
    lane: number;
}

/** A DAG with its runs in the window, and the moments at which its schedule will make more. */
export interface Row {
    dagId: string;
    bars: Bar[];
    planned: number[];
    lanes: number;
}

/** Return a row for each DAG that ran or will run, in the order of their names. Runs under way last until `now`. */
export function rowsOf(timeline: Pick<Timeline, "runs" | "forecast">, now: number): Row[] {
    const rows = new Map<string, Row>();
    const rowOf = (dagId: string): Row => {
        const row = rows.get(dagId) ?? { dagId, bars: [], planned: [], lanes: 1 };
        rows.set(dagId, row);
        return row;
    };
    for (const run of timeline.runs) {
        const begun = run.started_at ?? run.queued_at;
        if (begun === null) continue;
        const from = Date.parse(begun);
        const to = run.ended_at === null ? Math.max(now, from) : Date.parse(run.ended_at);
        rowOf(run.dag_id).bars.push({ run, from, to, lane: 0 });
    }
    for (const run of timeline.forecast?.runs ?? []) rowOf(run.dag_id).planned.push(Date.parse(run.run_after));
    for (const row of rows.values()) intoLanes(row);
    return [...rows.values()].sort((one, other) => one.dagId.localeCompare(other.dagId));
}

/** Lanes that a row has at most; what runs beyond is drawn over the last. */
const MOST_LANES = 5;

function intoLanes(row: Row): void {
    row.bars.sort((one, other) => one.from - other.from);
    const ends: number[] = [];
    for (const bar of row.bars) {
        const free = ends.findIndex((end) => end <= bar.from);
        bar.lane = Math.min(free < 0 ? ends.length : free, MOST_LANES - 1);
        ends[bar.lane] = bar.to;
    }
    row.lanes = Math.max(1, ends.length);
}

/** Return how far a moment is into the window, in percent of it; what lies outside is brought to its edge. */
export function placeIn(since: number, until: number): (at: number) => number {
    return (at) => Math.min(100, Math.max(0, (100 * (at - since)) / (until - since)));
}

/** Return in words how many slots of a pool were held at most; the load of a moment is the mean over a while. */
export function peakOf(held: readonly number[], slots: number | null): string {
    const peak = Math.max(0, ...held);
    if (peak === 0) return "not used";
    const number = peak < 0.1 ? "< 0.1" : Number(peak.toFixed(1));
    return `peak ${number}${slots === null ? " slots" : ` of ${slots}`}`;
}

/** Return the outline of a pool's load as points of an SVG that is 100 wide and `height` high. */
export function outlineOf(held: readonly number[], most: number, height: number): string {
    const points = held.flatMap((slots, at) => {
        const y = (height * (1 - Math.min(1, slots / most))).toFixed(2);
        return [`${((100 * at) / held.length).toFixed(3)},${y}`, `${((100 * (at + 1)) / held.length).toFixed(3)},${y}`];
    });
    return [`0,${height}`, ...points, `100,${height}`].join(" ");
}

/** The window that is looked at, in milliseconds. */
export interface Window {
    since: number;
    until: number;
}

const HOUR = 3_600_000;
const STEP = 300_000;

export const LENGTHS = [6, 24, 72, 168] as const;

/** Return the window of so many hours around `middle`, at whole five minutes: the same one for a while. */
export function windowOf(hours: number, middle: number): Window {
    const round = Math.round(middle / STEP) * STEP;
    return { since: round - (hours * HOUR) / 2, until: round + (hours * HOUR) / 2 };
}
