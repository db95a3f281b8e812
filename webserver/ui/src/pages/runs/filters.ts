import type { Got } from "../../api/client";
import { boundsOf } from "../dag/runs/day";

export type RunRow = Got<"/ui/runs">["runs"][number];

export const STATES = ["queued", "running", "success", "failed"] as const;
export const TYPES = ["scheduled", "manual", "backfill", "asset_triggered"] as const;

export interface RunFilters {
    state: (typeof STATES)[number] | null;
    type: (typeof TYPES)[number] | null;
    dag: string;
    search: string;
    since: string;
    until: string;
}

const among = <One extends string>(all: readonly One[], word: string | null): One | null =>
    all.find((one) => one === word) ?? null;

/** Read what the address asks for; words that mean nothing are as if they were not there. */
export function filtersOf(address: URLSearchParams): RunFilters {
    const day = (name: string) => (/^\d{4}-\d\d-\d\d$/.test(address.get(name) ?? "") ? (address.get(name) ?? "") : "");
    return {
        state: among(STATES, address.get("state")),
        type: among(TYPES, address.get("type")),
        dag: address.get("dag") ?? "",
        search: address.get("search") ?? "",
        since: day("since"),
        until: day("until"),
    };
}

/** Return what the server is asked for; days are whole days of the zone that times are shown in. */
export function queryOf(filters: RunFilters, zone: string) {
    const [first, last] = [boundsOf(filters.since, zone), boundsOf(filters.until, zone)];
    return {
        limit: 50,
        ...(filters.state === null ? {} : { state: [filters.state] }),
        ...(filters.type === null ? {} : { run_type: [filters.type] }),
        ...(filters.dag === "" ? {} : { dag_id: filters.dag }),
        ...(filters.search === "" ? {} : { search: filters.search }),
        ...(first === null ? {} : { since: first.since }),
        ...(last === null ? {} : { until: last.until }),
    };
}
