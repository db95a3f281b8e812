import { dateIn, momentIn, timeIn } from "../components/times";

/** A line across a chart at a moment (milliseconds), and the words below it. */
export interface Tick {
    at: number;
    label: string;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
    ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30].map((one) => one * SECOND),
    ...[1, 2, 5, 10, 15, 30].map((one) => one * MINUTE),
    ...[1, 2, 3, 6, 12].map((one) => one * HOUR),
    ...[1, 2, 7, 14, 28].map((one) => one * DAY),
];

/** Return at most `most` ticks between two moments, at round times of `zone`. */
export function ticksOf(from: number, to: number, zone: string, most: number): Tick[] {
    const step = STEPS.find((one) => (to - from) / one <= most) ?? Math.ceil((to - from) / most / DAY) * DAY;
    const ticks: Tick[] = [];
    // Round times are those of the zone's clock, so that a day begins at its midnight.
    const shift = offsetOf(zone, from);
    for (let at = Math.ceil((from + shift) / step) * step - shift; at <= to; at += step) {
        ticks.push({ at, label: labelOf(at, step, zone) });
    }
    return ticks;
}

function labelOf(at: number, step: number, zone: string): string {
    const moment = new Date(at).toISOString();
    if (step >= DAY) return dateIn(zone, moment).slice(5);
    if (step >= MINUTE) {
        const time = timeIn(zone, moment);
        return time === "00:00" ? dateIn(zone, moment).slice(5) : time;
    }
    const time = momentIn(zone, moment).slice(11);
    return step >= SECOND ? time : `${time}.${Math.floor((at % SECOND) / 100)}`;
}

/** Return by how many milliseconds the clock of a zone is ahead of UTC at a moment. */
function offsetOf(zone: string, at: number): number {
    const whole = Math.floor(at / SECOND) * SECOND;
    return Date.parse(`${momentIn(zone, new Date(whole).toISOString()).replace(" ", "T")}Z`) - whole;
}
