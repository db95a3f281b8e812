const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** Return the time of day to the millisecond: 14:05:09.042. */
export function preciseTimeIn(zone: string, moment: string): string {
    let format = FORMATS.get(zone);
    if (format === undefined) {
        format = new Intl.DateTimeFormat("en-GB", {
            hour: "2-digit",
            minute: "2-digit",
            second: "2-digit",
            fractionalSecondDigits: 3,
            timeZone: zone,
        });
        FORMATS.set(zone, format);
    }
    const date = new Date(moment);
    return Number.isNaN(date.getTime()) ? moment : format.format(date);
}
