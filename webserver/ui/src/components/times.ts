/** Return a length of time in words of at most two units: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function lengthOf(seconds: number | null | undefined): string {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
    const whole = Math.round(seconds);
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return twoUnits(whole, 60, "min", 1, "s");
    if (whole < 86_400) return twoUnits(whole, 3600, "h", 60, "min");
    return twoUnits(whole, 86_400, "d", 3600, "h");
}

function twoUnits(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
    // Rounded in the small unit first, so that 59 min 59 s of 60 never shows as "1 h 60 min".
    const units = Math.round(seconds / small);
    const perLarge = large / small;
    const rest = units % perLarge;
    const first = `${Math.floor(units / perLarge)} ${largeName}`;
    return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

/** Return the seconds between two moments in ISO 8601, the second being now where it is null; null without a first. */
export function secondsBetween(from: string | null, to: string | null, now: number): number | null {
    if (from === null) return null;
    return Math.max(0, ((to === null ? now : Date.parse(to)) - Date.parse(from)) / 1000);
}

const FORMATS = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string, parts: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
    const key = `${zone}|${JSON.stringify(parts)}`;
    let format = FORMATS.get(key);
    if (format === undefined) {
        format = new Intl.DateTimeFormat("sv-SE", { ...parts, timeZone: zone });
        FORMATS.set(key, format);
    }
    return format;
}

/** Return a moment as date and time in a zone: 2026-11-30 14:05:09. */
export function momentIn(zone: string, moment: string): string {
    return formatOf(zone, { dateStyle: "short", timeStyle: "medium" }).format(new Date(moment));
}

/** Return the time of day alone: 14:05. */
export function timeIn(zone: string, moment: string): string {
    return formatOf(zone, { timeStyle: "short" }).format(new Date(moment));
}

/** Return the date alone: 2026-11-30. */
export function dateIn(zone: string, moment: string): string {
    return formatOf(zone, { dateStyle: "short" }).format(new Date(moment));
}

/** Return the moment at which clocks of a zone show these words (2026-11-30T14:05:09), in ISO 8601; null if they are none. */
export function instantIn(zone: string, words: string): string | null {
    const shown = Date.parse(`${words}Z`);
    if (Number.isNaN(shown)) return null;
    let at = shown;
    // The clock of the zone tells by how much UTC's misses; where it changes on that day, the second look mends.
    for (let look = 0; look < 2; look++) {
        at -= Date.parse(`${momentIn(zone, new Date(at).toISOString()).replace(" ", "T")}Z`) - shown;
    }
    return new Date(at).toISOString();
}

/** Return how far a moment is from now: "in 3 min", "2 h ago". */
export function fromNow(moment: string, now: number): string {
    const seconds = (Date.parse(moment) - now) / 1000;
    const whole = Math.abs(Math.round(seconds));
    if (whole < 1) return "now";
    const [first, unit] = whole < 60 ? [whole, "s"] : lengthOf(whole).split(" ");
    return seconds > 0 ? `in ${first} ${unit}` : `${first} ${unit} ago`;
}
