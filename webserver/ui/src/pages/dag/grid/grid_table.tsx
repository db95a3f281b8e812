import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import { useZone } from "../../../components/clock";
import styles from "./grid.module.css";
import { GridColumnView } from "./grid_column";
import { HoverCard } from "./hover_card";
import { marksOf } from "./marks";
import { BLOCK, CELL, END, HEAD } from "./measures";
import { RowNames } from "./row_names";
import { blocksOf, blocksOfColumn, type GridColumn, type GridRow } from "./rows";
import { RunHead } from "./run_head";
import { useChosenInSight } from "./use_chosen";
import { useCursor } from "./use_cursor";
import { useGridClicks } from "./use_grid_clicks";

interface GridTableProps {
    dagId: string;
    rows: readonly GridRow[];
    columns: readonly GridColumn[];
    folded: ReadonlySet<string>;
    chosen: string | null;
    onFold: (groupId: string) => void;
    /** null: there are no groups. */
    onFoldAll: ((close: boolean) => void) | null;
    onChoose: (runId: string) => void;
    /** The oldest of the columns is almost seen. */
    onEnd: () => void;
}

/**
 * The grid, of which only what is seen is drawn. It reads from right to left: the newest run stands at the right, and
 * older ones are fetched as one scrolls to the left.
 */
export function GridTable(props: GridTableProps) {
    const { dagId, rows, columns, folded, chosen, onFold, onFoldAll, onChoose, onEnd } = props;
    const frame = useRef<HTMLDivElement>(null);
    const zone = useZone();
    const marks = useMemo(
        () =>
            marksOf(
                columns.map((one) => one.run.run_after),
                zone,
            ),
        [columns, zone],
    );
    const blocks = useMemo(() => blocksOf(rows, BLOCK), [rows]);
    const { across, down } = useSight(frame, columns.length, rows.length);
    const { place, onKeyDown } = useCursor({ frame, columns: columns.length, rows: rows.length, across, down });
    useChosenInSight(across, columns, chosen);
    const seenColumns = across.getVirtualItems();
    const seenRows = down.getVirtualItems();
    const last = seenColumns.at(-1)?.index ?? 0;
    useEffect(() => {
        if (last >= columns.length - 10) onEnd();
    }, [last, columns.length, onEnd]);
    const [firstRow, lastRow] = [seenRows[0]?.index ?? 0, seenRows.at(-1)?.index ?? 0];
    const longest = useMemo(() => Math.max(...columns.map((column) => column.run.duration ?? 0), 0.001), [columns]);
    useGridClicks(frame, onChoose, onFold);
    return (
        <>
            <section ref={frame} className={styles.frame} dir="rtl" onKeyDown={onKeyDown} aria-label="Runs by tasks">
                {/* Takes the room that few runs leave, so that they stand beside the names. */}
                <div className={styles.room} />
                <div
                    className={styles.cells}
                    style={{ width: across.getTotalSize(), height: HEAD + down.getTotalSize() }}
                >
                    <div className={styles.heads}>
                        {seenColumns.map((item) => {
                            const run = columns[item.index]?.run;
                            return run === undefined ? null : (
                                <RunHead
                                    key={run.run_id}
                                    run={run}
                                    right={item.start}
                                    longest={longest}
                                    mark={marks.get(item.index)}
                                    isChosen={run.run_id === chosen}
                                    isCursor={place.column === item.index && place.row === -1}
                                />
                            );
                        })}
                    </div>
                    {seenColumns.map((item) => {
                        const column = columns[item.index];
                        return column === undefined ? null : (
                            <GridColumnView
                                key={column.run.run_id}
                                dagId={dagId}
                                column={column}
                                blocks={blocks}
                                {...blocksOfColumn(item.index, firstRow, lastRow)}
                                right={item.start}
                                isChosen={column.run.run_id === chosen}
                                cursor={place.column === item.index && place.row >= 0 ? place.row : null}
                            />
                        );
                    })}
                </div>
                <RowNames
                    rows={rows}
                    first={Math.floor(firstRow / BLOCK) * BLOCK}
                    end={(Math.floor(lastRow / BLOCK) + 1) * BLOCK}
                    folded={folded}
                    onFold={onFold}
                    onFoldAll={onFoldAll}
                />
            </section>
            <HoverCard frame={frame} columns={columns} rows={rows} />
        </>
    );
}

function useSight(frame: React.RefObject<HTMLDivElement | null>, columns: number, rows: number) {
    const across = useVirtualizer({
        count: columns,
        getScrollElement: () => frame.current,
        estimateSize: () => CELL,
        horizontal: true,
        isRtl: true,
        overscan: 6,
        paddingStart: END,
        // The names stand over the oldest of what is seen.
        scrollPaddingEnd: 270,
    });
    const down = useVirtualizer({
        count: rows,
        getScrollElement: () => frame.current,
        estimateSize: () => CELL,
        scrollMargin: HEAD,
        scrollPaddingStart: HEAD,
        overscan: 4,
    });
    return { across, down };
}
