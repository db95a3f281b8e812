import { useMemo } from "react";
import { useSearchParams } from "react-router";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { useDag } from "../shape";
import { GridTable } from "./grid_table";
import { columnsOf, rowsOf, visibleRows } from "./rows";
import { useGrid } from "./use_grid";

/** Runs by tasks: one look tells what ran, what failed, and how long it took. */
export function Component() {
    const { dag_id: dagId } = useDag();
    const grid = useGrid(dagId);
    const [address, setAddress] = useSearchParams();
    const folded = useMemo(() => new Set(address.getAll("folded")), [address]);
    const pages = grid.data?.pages;
    const rows = useMemo(() => visibleRows(rowsOf(pages ?? []), folded), [pages, folded]);
    const columns = useMemo(() => columnsOf(pages ?? []), [pages]);
    if (grid.isError) return <ErrorNote error={grid.error} />;
    if (pages === undefined) return <Skeleton height="24rem" />;
    if (columns.length === 0) {
        return (
            <EmptyNote title="No runs yet">
                <p>Turn the DAG on to have its schedule start runs, or trigger one by hand.</p>
            </EmptyNote>
        );
    }
    const fold = (groupId: string) =>
        setAddress(
            (before) => {
                const others = before.getAll("folded").filter((one) => one !== groupId);
                const isFolded = before.getAll("folded").length > others.length;
                before.delete("folded");
                for (const one of isFolded ? others : [...others, groupId]) before.append("folded", one);
                return before;
            },
            { replace: true },
        );
    return (
        <GridTable
            dagId={dagId}
            rows={rows}
            columns={columns}
            folded={folded}
            onFold={fold}
            onEnd={() => {
                if (grid.hasNextPage && !grid.isFetchingNextPage) void grid.fetchNextPage();
            }}
        />
    );
}
