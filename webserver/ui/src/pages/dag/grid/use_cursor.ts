import type { Virtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { moved, type Place } from "./cursor";

interface Grid {
    frame: RefObject<HTMLDivElement | null>;
    columns: number;
    rows: number;
    across: Virtualizer<HTMLDivElement, Element>;
    down: Virtualizer<HTMLDivElement, Element>;
}

/** Where the keyboard is in the grid: arrow keys move it, and what it is on is scrolled into sight and focused. */
export function useCursor({ frame, columns, rows, across, down }: Grid) {
    const [place, setPlace] = useState<Place>({ column: 0, row: -1 });
    const isMoving = useRef(false);
    const onKeyDown = useCallback(
        (event: KeyboardEvent) => {
            const next = moved(place, event.key, { columns, rows });
            if (next === null || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            isMoving.current = true;
            across.scrollToIndex(next.column);
            if (next.row >= 0) down.scrollToIndex(next.row);
            setPlace(next);
        },
        [place, columns, rows, across, down],
    );
    useEffect(() => {
        // What was scrolled to may be drawn a frame later.
        if (!isMoving.current) return;
        const request = requestAnimationFrame(() => {
            const found = frame.current?.querySelector<HTMLElement>("[data-run] [tabindex='0']");
            if (place.column >= 0) found?.focus({ preventScroll: true });
            isMoving.current = false;
        });
        return () => cancelAnimationFrame(request);
    }, [place, frame]);
    return { place, setPlace, onKeyDown };
}
