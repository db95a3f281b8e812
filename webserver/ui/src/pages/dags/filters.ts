import type { Got } from "../../api/client";

export type DagRow = Got<"/ui/dags">["dags"][number];

/** The tabs of the list, by their word in the address; `counts` of the server has the same words. */
export const SHOWN = ["all", "unpaused", "paused", "running", "broken", "favorites"] as const;
export type Shown = (typeof SHOWN)[number];

export const LABELS: Record<Shown, string> = {
    all: "All",
    unpaused: "On",
    paused: "Paused",
    running: "Running",
    broken: "Broken",
    favorites: "Favourites",
};

const WANTED: Record<Shown, Record<string, boolean>> = {
    all: {},
    unpaused: { paused: false },
    paused: { paused: true },
    running: { running: true },
    broken: { broken: true },
    favorites: { favorites: true },
};

/** The states that the last run of a DAG may be asked for by. */
export const RUN_STATES = ["queued", "running", "success", "failed"] as const;

export interface Filters {
    shown: Shown;
    lastRun: (typeof RUN_STATES)[number] | null;
    search: string;
    tags: string[];
    owners: string[];
    order: "dag_id" | "-dag_id" | "next_run_at";
}

/** Read what the address asks for; words that mean nothing are as if they were not there. */
export function filtersOf(address: URLSearchParams): Filters {
    const shown = address.get("show");
    const order = address.get("order");
    return {
        shown: SHOWN.find((one) => one === shown) ?? "all",
        lastRun: RUN_STATES.find((one) => one === address.get("last_run")) ?? null,
        search: address.get("search") ?? "",
        tags: address.getAll("tag"),
        owners: address.getAll("owner"),
        order: order === "-dag_id" || order === "next_run_at" ? order : "dag_id",
    };
}

/** Return what the server is asked for. */
export function queryOf(filters: Filters) {
    return {
        ...WANTED[filters.shown],
        ...(filters.search === "" ? {} : { search: filters.search }),
        ...(filters.lastRun === null ? {} : { last_run_state: filters.lastRun }),
        tags: filters.tags,
        owners: filters.owners,
        order_by: filters.order,
        limit: 50,
    };
}
