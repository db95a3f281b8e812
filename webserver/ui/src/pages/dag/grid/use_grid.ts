import { type InfiniteData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { onRunsChanged } from "../../../api/live";
import { queries } from "../../../api/queries";
import { type GridPage, withFresh } from "./rows";

const RUNS_OF_PAGE = 60;

/** The runs of a DAG in pages, kept up to date by fetching only those of which the live stream tells. */
export function useGrid(dagId: string) {
    const queryKey = [...keys.dag(dagId), "grid"];
    const grid = useInfiniteQuery({
        queryKey,
        queryFn: ({ pageParam }) => fetchPage(dagId, { cursor: pageParam, limit: RUNS_OF_PAGE }),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
    });
    useEffect(() => followRuns(dagId), [dagId]);
    return grid;
}

function fetchPage(dagId: string, query: { cursor?: string; limit?: number; run_id?: string[] }): Promise<GridPage> {
    return answered(api.GET("/ui/dags/{dag_id}/grid", { params: { path: { dag_id: dagId }, query } }));
}

function followRuns(dagId: string): () => void {
    const waiting = new Set<string>();
    let isAsking = false;
    const ask = async () => {
        isAsking = true;
        while (waiting.size > 0) {
            const run_id = [...waiting].slice(0, RUNS_OF_PAGE);
            for (const one of run_id) waiting.delete(one);
            await put(dagId, run_id);
        }
        isAsking = false;
    };
    return onRunsChanged((runs) => {
        for (const run of runs) if (run.dag_id === dagId) waiting.add(run.run_id);
        if (waiting.size > 0 && !isAsking) void ask();
    });
}

async function put(dagId: string, runIds: string[]): Promise<void> {
    try {
        const fresh = await fetchPage(dagId, { run_id: runIds, limit: RUNS_OF_PAGE });
        queries.setQueryData<InfiniteData<GridPage>>([...keys.dag(dagId), "grid"], (before) =>
            before === undefined ? before : { ...before, pages: withFresh(before.pages, fresh) },
        );
    } catch {
        // What could not be fetched now is fetched whole when the server is back.
        await queries.invalidateQueries({ queryKey: [...keys.dag(dagId), "grid"] });
    }
}
