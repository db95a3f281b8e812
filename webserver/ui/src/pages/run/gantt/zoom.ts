/** A part of time, in milliseconds. */
export interface Window {
    from: number;
    to: number;
}

/** The least that the chart shows: bars tell times in milliseconds, and ticks stand a tenth of a second apart. */
const LEAST = 400;

/** Return the part of `whole` that the address asks for; the whole where it asks for none. Times are since its begin. */
export function zoomOf(address: URLSearchParams, whole: Window): Window {
    const [from, to] = [secondsIn(address, "from"), secondsIn(address, "to")];
    if (from === null || to === null || to <= from) return whole;
    return within({ from: whole.from + from * 1000, to: whole.from + to * 1000 }, whole);
}

function secondsIn(address: URLSearchParams, name: string): number | null {
    const text = address.get(name);
    const seconds = Number(text);
    return text === null || text === "" || !Number.isFinite(seconds) ? null : seconds;
}

/** Return what the address says of a part of `whole`: nothing of the whole. */
export function addressOf(shown: Window, whole: Window): { from: string | null; to: string | null } {
    if (shown.from <= whole.from && shown.to >= whole.to) return { from: null, to: null };
    return { from: seconds(shown.from - whole.from), to: seconds(shown.to - whole.from) };
}

const seconds = (milliseconds: number): string => String(Math.round(milliseconds) / 1000);

/** Return a part `times` as long, with the moment `at` where it was; it stays within `whole`. */
export function zoomed(shown: Window, times: number, at: number, whole: Window): Window {
    const length = Math.max(LEAST, (shown.to - shown.from) * times);
    const share = (at - shown.from) / (shown.to - shown.from);
    return within({ from: at - share * length, to: at + (1 - share) * length }, whole);
}

/** Return the part of the same length that lies `share` of it further on, or before. */
export function moved(shown: Window, share: number, whole: Window): Window {
    const by = share * (shown.to - shown.from);
    return within({ from: shown.from + by, to: shown.to + by }, whole);
}

/** Return the part between two moments, whichever is first. */
export function between(one: number, other: number, whole: Window): Window {
    const [from, to] = one < other ? [one, other] : [other, one];
    const missing = Math.max(0, LEAST - (to - from)) / 2;
    return within({ from: from - missing, to: to + missing }, whole);
}

function within(shown: Window, whole: Window): Window {
    const length = Math.min(shown.to - shown.from, whole.to - whole.from);
    const from = Math.min(Math.max(shown.from, whole.from), whole.to - length);
    return { from, to: from + length };
}
