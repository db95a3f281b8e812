import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Line, LogLines } from "./log_lines";
import { isNearEdge, type Rows, SEGMENT, segmentFor } from "./rows";

export const LINE_HEIGHT = 20;

type Align = "start" | "center" | "end";

interface Place {
    row: number;
    align: Align;
}

interface ViewOptions {
    log: LogLines;
    rows: Rows;
    /** The line to begin at; null: the end. */
    firstLine: number | null;
    /** Another one whenever the rows may have become higher. */
    mark: string;
    onAtEnd: (isAtEnd: boolean) => void;
}

/** The rows that are in view, and how to move it. The view stays at the end as long as nobody scrolls away from it. */
export function useView({ log, rows, firstLine, mark, onAtEnd }: ViewOptions) {
    const frame = useRef<HTMLElement>(null);
    const [base, setBase] = useState(() => segmentFor(startRow(rows, firstLine), rows.count));
    const list = useVirtualizer({
        count: Math.max(0, Math.min(SEGMENT, rows.count - base)),
        getScrollElement: () => frame.current,
        estimateSize: (at) => LINE_HEIGHT * heightOf(log.lineAt(rows.lineOf(base + at))),
        getItemKey: useCallback((at: number) => rows.lineOf(base + at), [rows, base]),
        overscan: 12,
    });
    const waiting = useRef<Place | null>(null);
    const goTo = (row: number, align: Align) => {
        if (row >= base && row < base + SEGMENT && !isNearEdge(row, row, base, rows.count)) {
            list.scrollToIndex(row - base, { align });
        } else {
            waiting.current = { row, align };
            setBase(segmentFor(row, rows.count));
        }
    };
    const end = useEnd(firstLine === null, onAtEnd);
    const seen = useRef("");
    // Until the view has moved, what is drawn is still where it was in the segment before.
    const isMoving = useRef(false);
    const [opened] = useState<Place>(() => ({
        row: startRow(rows, firstLine),
        align: firstLine === null ? "end" : "center",
    }));
    useLayoutEffect(() => {
        waiting.current = opened;
    }, [opened]);

    useLayoutEffect(() => {
        if (waiting.current !== null) {
            list.scrollToIndex(waiting.current.row - base, { align: waiting.current.align });
            waiting.current = null;
            isMoving.current = base > 0 || rows.count > SEGMENT;
        } else if (end.isAt.current && seen.current !== mark) {
            goTo(rows.count - 1, "end");
        }
        seen.current = mark;
    });

    const items = list.getVirtualItems();
    const first = base + (items[0]?.index ?? 0);
    const last = base + (items.at(-1)?.index ?? 0);
    useEffect(() => {
        // Cheap where nothing is missing, and right after each change: lines may have come or been forgotten.
        if (rows.count > 0) log.need(rows.lineOf(first), rows.lineOf(last));
        if (!isMoving.current && items.length > 0 && isNearEdge(first, last, base, rows.count))
            goTo((first + last) >> 1, "center");
    });

    const onScroll = () => {
        const element = frame.current;
        if (element === null) return;
        isMoving.current = false;
        const below = element.scrollHeight - element.scrollTop - element.clientHeight;
        end.tell(below < LINE_HEIGHT * 1.5 && base + SEGMENT >= rows.count);
    };
    return { frame, list, base, goTo, onScroll, tellEnd: end.tell };
}

/** Whether the view is at the end, told once when that changes. */
function useEnd(isAtFirst: boolean, onAtEnd: (isAtEnd: boolean) => void) {
    const isAt = useRef(isAtFirst);
    const tell = (isNow: boolean) => {
        if (isAt.current !== isNow) onAtEnd(isNow);
        isAt.current = isNow;
    };
    return { isAt, tell };
}

function startRow(rows: Rows, firstLine: number | null): number {
    return firstLine === null ? Math.max(0, rows.count - 1) : rows.rowOf(firstLine);
}

/** How many lines a line's text has, without wrapping. */
function heightOf(line: Line | undefined): number {
    if (line === undefined) return 1;
    let count = 1;
    for (const text of [line.text.replace(/\n+$/, ""), line.exc ?? ""]) {
        for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
    }
    return line.exc === null ? count : count + 1;
}
