const ORDER = ["success", "failed", "running", "queued"];

/** Return the parts of a bar of progress in percent, what has ended first; states without runs are left out. */
export function shareOf(runs: Readonly<Record<string, number>>, total: number): { state: string; percent: number }[] {
    const states = [...ORDER, ...Object.keys(runs).filter((state) => !ORDER.includes(state))];
    return states.flatMap((state) => {
        const count = runs[state] ?? 0;
        return count === 0 || total === 0 ? [] : [{ state, percent: (100 * count) / total }];
    });
}
