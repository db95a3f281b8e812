import { instantIn, momentIn } from "../../../components/times";
import { type RunFilter, runFilterOf } from "../run_filter";

const MINUTE = 60_000;
const FIRST_YEAR = 1970;
const LAST_YEAR = 9999;

/** Which runs the grid shows: those that the filter wants, and of these all or those before a moment. */
export type GridFilter = RunFilter & { until?: string };

/** Read from the address which runs the grid shows. A moment that is none is as if it were not there. */
export function gridFilterOf(address: URLSearchParams): GridFilter {
    const until = ofTheCalendar(Date.parse(address.get("until") ?? ""));
    return until === null ? runFilterOf(address) : { ...runFilterOf(address), until };
}

/** Return the moment before which all runs of the minute of `moment` are, and no later ones. */
export function untilMinuteOf(moment: string): string {
    return new Date((Math.floor(Date.parse(moment) / MINUTE) + 1) * MINUTE).toISOString();
}

/** Return the last minute before a moment as a field for a date and a time has it. */
export function writtenIn(zone: string, until: string | undefined): string {
    if (until === undefined) return "";
    const last = new Date(Date.parse(until) - 1).toISOString();
    return momentIn(zone, last).slice(0, "2026-11-30 14:05".length).replace(" ", "T");
}

/** Return the moment after the minute that somebody wrote; null while it is none that a run could have. */
export function readIn(zone: string, written: string): string | null {
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(written) || Number(written.slice(0, 4)) < FIRST_YEAR) return null;
    const at = instantIn(zone, `${written}:00`);
    return at === null ? null : untilMinuteOf(at);
}

function ofTheCalendar(milliseconds: number): string | null {
    if (Number.isNaN(milliseconds)) return null;
    const moment = new Date(milliseconds);
    const year = moment.getUTCFullYear();
    return year >= FIRST_YEAR && year <= LAST_YEAR ? moment.toISOString() : null;
}
