export const REPROCESS = {
    none: "pass them over",
    failed: "run the failed ones again",
    completed: "run all that have ended again",
} as const;

export interface Wish {
    from: string;
    to: string;
    reprocess: keyof typeof REPROCESS;
    backwards: boolean;
    atOnce: string;
}

export const EMPTY: Wish = { from: "", to: "", reprocess: "none", backwards: false, atOnce: "10" };

/** Return whether a wish says enough to be asked of the server. */
export function isWhole(wish: Wish): boolean {
    return wish.from !== "" && wish.to !== "" && Number(wish.atOnce) >= 1;
}

/** Return what the server is asked for: whole days in UTC, the last one with them. */
export function bodyOf(dagId: string, wish: Wish) {
    return {
        dag_id: dagId,
        from_date: `${wish.from}T00:00:00Z`,
        to_date: `${wish.to}T23:59:59Z`,
        reprocess_behavior: wish.reprocess,
        run_backwards: wish.backwards,
        max_active_runs: Number(wish.atOnce),
    };
}

/** Return how many of the planned dates get a run, a new one or their old one again. */
export function countOf(planned: readonly { action: string }[]): number {
    return planned.filter((one) => one.action !== "skip").length;
}
