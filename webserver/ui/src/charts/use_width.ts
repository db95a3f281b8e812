import { type RefObject, useEffect, useState } from "react";

/** Return how wide an element is in pixels, kept up to date; `otherwise` before it is drawn. */
export function useWidth(element: RefObject<HTMLElement | null>, otherwise: number): number {
    const [width, setWidth] = useState(otherwise);
    useEffect(() => {
        const { current } = element;
        if (current === null) return;
        const observer = new ResizeObserver(([entry]) => {
            if (entry !== undefined) setWidth(entry.contentRect.width);
        });
        observer.observe(current);
        return () => observer.disconnect();
    }, [element]);
    return width;
}
