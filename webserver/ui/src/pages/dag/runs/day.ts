import { dateIn, momentIn } from "../../../components/times";

const DAY = 86_400_000;

/** Return when a day of a zone begins, and when the next one does, in ISO 8601; null if the words are no day. */
export function boundsOf(day: string, zone: string): { since: string; until: string } | null {
    const noon = Date.parse(`${day}T12:00:00Z`);
    if (Number.isNaN(noon) || !/^\d{4}-\d\d-\d\d$/.test(day)) return null;
    return { since: midnightOf(noon, zone), until: midnightOf(noon + DAY, zone) };
}

/** Return the midnight of a zone with which the day of `noon` (UTC) begins. */
function midnightOf(noon: number, zone: string): string {
    const day = new Date(noon).toISOString().slice(0, 10);
    let at = Date.parse(`${day}T00:00:00Z`);
    // The clock of the zone tells by how much UTC's midnight misses; where it changes on that day, the second look mends.
    for (let look = 0; look < 2; look++) {
        at -=
            Date.parse(`${momentIn(zone, new Date(at).toISOString()).replace(" ", "T")}Z`) -
            Date.parse(`${day}T00:00:00Z`);
    }
    return new Date(at).toISOString();
}

/** Return the day of a zone a number of days after another. */
export function dayAfter(day: string, days: number): string {
    return dateIn("UTC", new Date(Date.parse(`${day}T12:00:00Z`) + days * DAY).toISOString());
}
