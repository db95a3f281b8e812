import { dateIn, timeIn } from "../../../components/times";

/** A word above a column: of a month where one begins, else of a day or an hour. */
export interface Mark {
    label: string;
    isStrong: boolean;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** How many columns a word takes. */
const WIDTH = 3;

/**
 * Return the words above the columns by their index, the newest being 0. What begins a month comes before what begins a
 * day, and that before an hour; where two would touch, the lesser one is left out.
 */
export function marksOf(moments: readonly (string | null)[], zone: string): Map<number, Mark> {
    const found = new Map<number, Mark>();
    const days = moments.map((one) => (one === null ? "" : dateIn(zone, one)));
    const times = moments.map((one) => (one === null ? "" : timeIn(zone, one)));
    for (const level of [monthOf, dayOf, hourOf]) {
        moments.forEach((_, at) => {
            const label = level(days, times, at);
            if (label === null || isTaken(found, at)) return;
            found.set(at, { label, isStrong: level === monthOf });
        });
    }
    return found;
}

type Level = (days: readonly string[], times: readonly string[], at: number) => string | null;

const monthOf: Level = (days, _, at) => {
    const day = days[at] ?? "";
    const before = days[at + 1];
    if (day === "" || before === undefined || before.slice(0, 7) === day.slice(0, 7)) return null;
    return wordsOfDay(day);
};

const dayOf: Level = (days, _, at) => {
    const day = days[at] ?? "";
    return day === "" || days[at + 1] === day ? null : wordsOfDay(day);
};

const hourOf: Level = (days, times, at) => {
    const time = times[at] ?? "";
    const isSame = days[at + 1] === days[at] && times[at + 1]?.slice(0, 2) === time.slice(0, 2);
    return isSame || time === "" ? null : time;
};

function wordsOfDay(day: string): string {
    return `${Number(day.slice(8, 10))} ${MONTHS[Number(day.slice(5, 7)) - 1] ?? ""}`;
}

function isTaken(found: ReadonlyMap<number, Mark>, at: number): boolean {
    for (let other = at - WIDTH + 1; other < at + WIDTH; other++) if (found.has(other)) return true;
    return false;
}
