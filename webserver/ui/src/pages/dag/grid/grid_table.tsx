import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useRef } from "react";
import { useNavigate } from "react-router";
import { BASE } from "../../../api/base";
import styles from "./grid.module.css";
import { GridColumnView } from "./grid_column";
import { RowNames } from "./row_names";
import type { GridColumn, GridRow } from "./rows";

export const CELL = 24;
const HEAD = 76;

interface GridTableProps {
    dagId: string;
    rows: readonly GridRow[];
    columns: readonly GridColumn[];
    folded: ReadonlySet<string>;
    onFold: (groupId: string) => void;
    /** The oldest of the columns is almost seen. */
    onEnd: () => void;
}

/**
 * The grid, of which only what is seen is drawn. It reads from right to left: the newest run stands at the right, and
 * older ones are fetched as one scrolls to the left.
 */
export function GridTable({ dagId, rows, columns, folded, onFold, onEnd }: GridTableProps) {
    const frame = useRef<HTMLDivElement>(null);
    const across = useVirtualizer({
        count: columns.length,
        getScrollElement: () => frame.current,
        estimateSize: () => CELL,
        horizontal: true,
        isRtl: true,
        overscan: 8,
    });
    const down = useVirtualizer({
        count: rows.length,
        getScrollElement: () => frame.current,
        estimateSize: () => CELL,
        scrollMargin: HEAD,
        overscan: 6,
    });
    const seenColumns = across.getVirtualItems();
    const seenRows = down.getVirtualItems();
    const last = seenColumns.at(-1)?.index ?? 0;
    useEffect(() => {
        if (last >= columns.length - 10) onEnd();
    }, [last, columns.length, onEnd]);
    const first = seenRows[0]?.index ?? 0;
    const drawn = rows.slice(first, (seenRows.at(-1)?.index ?? -1) + 1);
    const longest = Math.max(...columns.map((column) => column.run.duration ?? 0), 0.001);
    useOwnLinks(frame);
    return (
        <div ref={frame} className={styles.frame} dir="rtl">
            {/* Takes the room that few runs leave, so that they stand beside the names. */}
            <div className={styles.room} />
            <div className={styles.cells} style={{ width: across.getTotalSize(), height: HEAD + down.getTotalSize() }}>
                {seenColumns.map((item) => {
                    const column = columns[item.index];
                    return column === undefined ? null : (
                        <GridColumnView
                            key={column.run.run_id}
                            dagId={dagId}
                            column={column}
                            rows={drawn}
                            top={first * CELL}
                            right={item.start}
                            longest={longest}
                        />
                    );
                })}
            </div>
            <RowNames rows={drawn} top={first * CELL} height={down.getTotalSize()} folded={folded} onFold={onFold} />
        </div>
    );
}

/** Follow plain links below an element within the pages, so that a thousand cells need no handler of their own. */
function useOwnLinks(element: RefObject<HTMLElement | null>): void {
    const navigate = useNavigate();
    useEffect(() => {
        const follow = (event: MouseEvent) => {
            const link = event.target instanceof Element ? event.target.closest("a") : null;
            if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            void navigate(link.pathname.slice(BASE.length));
        };
        const { current } = element;
        current?.addEventListener("click", follow);
        return () => current?.removeEventListener("click", follow);
    }, [element, navigate]);
}
