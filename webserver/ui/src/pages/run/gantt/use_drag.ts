import { type RefObject, useEffect, useRef, useState } from "react";
import { between, type Window, zoomed } from "./zoom";

interface Drag {
    /** The chart, in which dragging begins; links in it stay links. */
    frame: RefObject<HTMLElement | null>;
    /** As wide as the time that is shown. */
    axis: RefObject<HTMLElement | null>;
    shown: Window;
    whole: Window;
    onShow: (part: Window) => void;
}

/** Less than this is a click. */
const PIXELS = 4;

/** Hear dragging over the chart, which chooses a part of time to look at, and Ctrl with the wheel, which zooms. */
export function useDrag({ frame, axis, shown, whole, onShow }: Drag): Window | null {
    const [chosen, setChosen] = useState<Window | null>(null);
    const newest = useRef({ shown, whole, onShow });
    useEffect(() => {
        newest.current = { shown, whole, onShow };
    });
    useEffect(() => {
        const chart = frame.current;
        let begin: number | null = null;
        const part = (event: PointerEvent): Window | null => {
            if (begin === null || Math.abs(event.clientX - begin) < PIXELS) return null;
            const { shown, whole } = newest.current;
            return between(timeAt(axis.current, begin, shown), timeAt(axis.current, event.clientX, shown), whole);
        };
        const down = (event: PointerEvent) => {
            const isOnLink = event.target instanceof Element && event.target.closest("a, button") !== null;
            const left = axis.current?.getBoundingClientRect().left ?? 0;
            if (event.button === 0 && event.pointerType !== "touch" && !isOnLink && event.clientX > left)
                begin = event.clientX;
        };
        const move = (event: PointerEvent) => {
            if (begin !== null) setChosen(part(event));
        };
        const up = (event: PointerEvent) => {
            const found = part(event);
            begin = null;
            setChosen(null);
            if (found !== null) newest.current.onShow(found);
        };
        const cancel = () => {
            begin = null;
            setChosen(null);
        };
        const wheel = (event: WheelEvent) => {
            if (!event.ctrlKey && !event.metaKey) return;
            event.preventDefault();
            const { shown, whole, onShow } = newest.current;
            const at = timeAt(axis.current, event.clientX, shown);
            onShow(zoomed(shown, event.deltaY < 0 ? 0.7 : 1 / 0.7, at, whole));
        };
        chart?.addEventListener("pointerdown", down);
        window.addEventListener("pointermove", move);
        window.addEventListener("pointerup", up);
        window.addEventListener("pointercancel", cancel);
        chart?.addEventListener("wheel", wheel, { passive: false });
        return () => {
            chart?.removeEventListener("pointerdown", down);
            window.removeEventListener("pointermove", move);
            window.removeEventListener("pointerup", up);
            window.removeEventListener("pointercancel", cancel);
            chart?.removeEventListener("wheel", wheel);
        };
    }, [frame, axis]);
    return chosen;
}

/** Return the moment at a place of the window, at most a little outside of what is shown. */
function timeAt(axis: HTMLElement | null, x: number, shown: Window): number {
    const box = axis?.getBoundingClientRect();
    if (box === undefined || box.width === 0) return shown.from;
    const share = Math.min(1, Math.max(0, (x - box.left) / box.width));
    return shown.from + share * (shown.to - shown.from);
}
