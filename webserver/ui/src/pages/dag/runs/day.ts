import { dateIn, instantIn } from "../../../components/times";

const DAY = 86_400_000;

/** Return when a day of a zone begins, and when the next one does, in ISO 8601; null if the words are no day. */
export function boundsOf(day: string, zone: string): { since: string; until: string } | null {
    if (!/^\d{4}-\d\d-\d\d$/.test(day)) return null;
    const since = instantIn(zone, `${day}T00:00:00`);
    if (since === null) return null;
    const until = instantIn(zone, `${dayAfter(day, 1)}T00:00:00`);
    return until === null ? null : { since, until };
}

/** Return the day of a zone a number of days after another. */
export function dayAfter(day: string, days: number): string {
    return dateIn("UTC", new Date(Date.parse(`${day}T12:00:00Z`) + days * DAY).toISOString());
}
