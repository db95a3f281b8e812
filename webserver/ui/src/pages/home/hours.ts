const HOUR_MILLISECONDS = 3_600_000;

interface Hour {
    start: string;
    runs: number;
}

/** Return 24 hours from the one that `now` is in, those without runs as well, which the server leaves out. */
export function byHour(now: string, hours: readonly Hour[]): Hour[] {
    const first = Math.floor(Date.parse(now) / HOUR_MILLISECONDS);
    const runs = new Map<number, number>();
    for (const hour of hours) {
        const at = Math.floor(Date.parse(hour.start) / HOUR_MILLISECONDS);
        runs.set(at, (runs.get(at) ?? 0) + hour.runs);
    }
    return Array.from({ length: 24 }, (_, at) => ({
        start: new Date((first + at) * HOUR_MILLISECONDS).toISOString(),
        runs: runs.get(first + at) ?? 0,
    }));
}
