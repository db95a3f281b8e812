import { type InfiniteData, infiniteQueryOptions, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { onRunsChanged } from "../../../api/live";
import { queries } from "../../../api/queries";
import type { GridFilter } from "./past";
import { type GridPage, withFresh } from "./rows";

const RUNS_OF_PAGE = 60;

/** What is asked for the newest runs of a filter, and then for older ones. */
export function gridOf(dagId: string, filter: GridFilter) {
    return infiniteQueryOptions({
        queryKey: keyOf(dagId, JSON.stringify(filter)),
        queryFn: ({ pageParam }) => fetchPage(dagId, { ...filter, cursor: pageParam, limit: RUNS_OF_PAGE }),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
    });
}

/** The runs of a DAG in pages, kept up to date by fetching only those of which the live stream tells. */
export function useGrid(dagId: string, filter: GridFilter) {
    const word = JSON.stringify(filter);
    const grid = useInfiniteQuery({ ...gridOf(dagId, filter), placeholderData: (before) => before });
    useEffect(() => followRuns(dagId, word), [dagId, word]);
    return grid;
}

const keyOf = (dagId: string, filter: string): QueryKey => [...keys.dag(dagId), "grid", filter];

type GridQuery = Partial<GridFilter> & { cursor?: string; limit?: number; run_id?: string[] };

function fetchPage(dagId: string, query: GridQuery): Promise<GridPage> {
    return answered(api.GET("/ui/dags/{dag_id}/grid", { params: { path: { dag_id: dagId }, query } }));
}

function followRuns(dagId: string, filter: string): () => void {
    const waiting = new Set<string>();
    let isAsking = false;
    const ask = async () => {
        isAsking = true;
        while (waiting.size > 0) {
            const run_id = [...waiting].slice(0, RUNS_OF_PAGE);
            for (const one of run_id) waiting.delete(one);
            await put(dagId, filter, run_id);
        }
        isAsking = false;
    };
    return onRunsChanged((runs) => {
        for (const run of runs) if (run.dag_id === dagId) waiting.add(run.run_id);
        if (waiting.size > 0 && !isAsking) void ask();
    });
}

async function put(dagId: string, filter: string, runIds: string[]): Promise<void> {
    const queryKey = keyOf(dagId, filter);
    try {
        const wanted = JSON.parse(filter) as GridFilter;
        const fresh = await fetchPage(dagId, { ...wanted, run_id: runIds, limit: RUNS_OF_PAGE });
        queries.setQueryData<InfiniteData<GridPage>>(queryKey, (before) =>
            before === undefined ? before : { ...before, pages: withFresh(before.pages, fresh, new Set(runIds)) },
        );
    } catch {
        // What could not be fetched now is fetched whole when the server is back.
        await queries.invalidateQueries({ queryKey });
    }
}
