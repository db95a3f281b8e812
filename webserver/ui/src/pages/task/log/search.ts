import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { answered, api } from "../../../api/client";
import { type FollowedLine, lineOf } from "./follow";
import type { Line, LogAddress } from "./log_lines";

const PAGE = 1000;
/** Matches that are gathered without being asked for; more come when one walks on. */
const GATHERED = 5000;

/** What lines are looked for. Nothing is while both are empty. */
export interface Wanted {
    words: string;
    levels: readonly string[];
}

/** What a search found so far. */
export interface Found {
    lines: Line[];
    numbers: number[];
    isComplete: boolean;
    isSearching: boolean;
    error: Error | null;
    more: () => void;
}

/** Search the whole log on the server, from its first line on. `age` begins it anew when it changes. */
export function useLogSearch(log: LogAddress, wanted: Wanted, age: unknown): Found {
    const isWanted = wanted.words !== "" || wanted.levels.length > 0;
    const search = useInfiniteQuery({
        queryKey: ["log-search", log, wanted, age],
        queryFn: ({ pageParam, signal }) => answered(searchFrom(log, wanted, pageParam, signal)),
        initialPageParam: 0,
        getNextPageParam: (page) => page.next_line,
        enabled: isWanted,
        gcTime: 0,
    });
    const lines = useMemo(
        () =>
            (search.data?.pages ?? []).flatMap((page) =>
                page.matches.map((match) => lineOf(match.number, match.line as FollowedLine)),
            ),
        [search.data],
    );
    const numbers = useMemo(() => lines.map((line) => line.number), [lines]);
    const { hasNextPage, isFetching, fetchNextPage } = search;
    const count = lines.length;
    useEffect(() => {
        if (hasNextPage && !isFetching && count < GATHERED) void fetchNextPage();
    }, [hasNextPage, isFetching, fetchNextPage, count]);
    return {
        lines,
        numbers,
        isComplete: search.data !== undefined && !hasNextPage,
        isSearching: isWanted && isFetching,
        error: search.error,
        more: () => {
            if (hasNextPage && !isFetching) void fetchNextPage();
        },
    };
}

function searchFrom(log: LogAddress, { words, levels }: Wanted, first: number, signal: AbortSignal) {
    return api.GET("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/logs/{try_number}/search", {
        params: {
            path: { dag_id: log.dagId, dag_run_id: log.runId, task_id: log.taskId, try_number: log.tryNumber },
            query: { map_index: log.mapIndex, query: words, level: [...levels], first, limit: PAGE },
        },
        signal,
    });
}
