import { useCallback, useMemo } from "react";
import { queries } from "../../../api/queries";
import { hasFailed } from "../../../components/failures";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { SearchField } from "../../../components/search_field";
import { ChosenRun } from "../chosen_run";
import { early } from "../early";
import { foldedOf } from "../folding";
import { Legend } from "../legend";
import { NoRuns } from "../no_runs";
import { RunFilterBar } from "../run_filter";
import { useDag } from "../shape";
import toolbar from "../toolbar.module.css";
import { useAddress, useFolding } from "../use_address";
import { GridTable } from "./grid_table";
import { NotShown } from "./not_shown";
import { gridFilterOf } from "./past";
import { PastBar } from "./past_bar";
import { columnsOf, type GridColumn, type GridRow, rowsNamed, rowsOf, visibleRows } from "./rows";
import { useOlder } from "./use_chosen";
import { gridOf, useGrid } from "./use_grid";

export const loader = early(({ dagId, address }) =>
    queries.prefetchInfiniteQuery(gridOf(dagId, gridFilterOf(address))),
);
export { shouldRevalidate } from "../early";

/** Runs by tasks: one look tells what ran, what failed, and how long it took. */
export function Component() {
    const { dag_id: dagId } = useDag();
    const [address, change] = useAddress();
    const filter = gridFilterOf(address);
    const grid = useGrid(dagId, filter);
    const { toggled, fold, foldAll } = useFolding();
    const find = address.get("find") ?? "";
    const pages = grid.data?.pages;
    const all = useMemo(() => rowsOf(pages ?? []), [pages]);
    const columns = useMemo(() => columnsOf(pages ?? []), [pages]);
    const folded = useMemo(() => (find === "" ? foldedOf(all, toggled) : new Set<string>()), [all, toggled, find]);
    const rows = useMemo(() => visibleRows(rowsNamed(all, find), folded), [all, find, folded]);
    const states = useMemo(() => statesSeen(columns, rows), [columns, rows]);
    const hasGroups = useMemo(() => all.some((row) => row.kind === "group"), [all]);
    const onFoldAll = useCallback((close: boolean) => foldAll(all, close), [foldAll, all]);
    const chosen = address.get("run");
    const choose = useCallback((runId: string) => change({ run: runId === chosen ? null : runId }), [change, chosen]);
    const { hasNextPage, isFetchingNextPage, fetchNextPage } = grid;
    const more = useCallback(() => {
        if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
    }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
    const isNarrowed = filter.state.length + filter.run_type.length > 0;
    const isPast = filter.until !== undefined;
    const hasMore = hasNextPage && !isPast;
    const found = useOlder({ columns, chosen: isNarrowed ? null : chosen, hasMore, onMore: more });
    if (hasFailed(grid)) return <ErrorNote error={grid.error} />;
    return (
        <div className={toolbar.part}>
            <div className={toolbar.bar}>
                <RunFilterBar />
                <PastBar />
                <SearchField label="Tasks named" text={find} onText={(text) => change({ find: text })} />
            </div>
            <ChosenRun
                dagId={dagId}
                otherwise={columns.length > 0 && "Click on a run to choose it: the graph then shows its states."}
            />
            {pages === undefined ? (
                <Skeleton height="24rem" />
            ) : (
                <Runs isFiltered={isNarrowed || isPast} columns={columns}>
                    {found === "not shown" && chosen !== null && (
                        <NotShown dagId={dagId} runId={chosen} until={filter.until} />
                    )}
                    <GridTable
                        dagId={dagId}
                        rows={rows}
                        columns={columns}
                        folded={folded}
                        chosen={chosen}
                        onFold={fold}
                        onFoldAll={hasGroups ? onFoldAll : null}
                        onChoose={choose}
                        onEnd={more}
                    />
                    <Legend states={states} hasTries={hasTries(columns)} />
                </Runs>
            )}
        </div>
    );
}

interface RunsProps {
    isFiltered: boolean;
    columns: readonly GridColumn[];
    children: React.ReactNode;
}

function Runs({ isFiltered, columns, children }: RunsProps) {
    if (columns.length > 0) return children;
    return isFiltered ? (
        <EmptyNote title="No run is like that">
            <p>Take a filter away, or look back from a later time, to see the others.</p>
        </EmptyNote>
    ) : (
        <NoRuns />
    );
}

/** The legend needs the states of what can be seen only: those of the newest hundred runs. */
function statesSeen(columns: readonly GridColumn[], rows: readonly GridRow[]): Set<string> {
    const found = new Set<string>();
    for (const column of columns.slice(0, 100)) {
        for (const row of rows.slice(0, 300)) {
            const state = column.states.get(row.id);
            if (state !== undefined) found.add(state);
        }
    }
    return found;
}

/** Whether a number stands in a cell, and has to be told what it means. */
function hasTries(columns: readonly GridColumn[]): boolean {
    return columns
        .slice(0, 100)
        .some(({ run, states }) =>
            Object.entries(run.tries).some(([id, tries]) => tries > 1 && states.get(id) === "success"),
        );
}
