import { type RefObject, useEffect } from "react";
import { useNavigate } from "react-router";
import { BASE } from "../../../api/base";

/**
 * Hear clicks on runs and cells for all of them at once, so that thousands of cells need no handler of their own: a
 * run's head chooses the run, a cell opens the task within the pages, or opens and closes the group.
 */
export function useGridClicks(
    frame: RefObject<HTMLElement | null>,
    onChoose: (runId: string) => void,
    onFold: (groupId: string) => void,
): void {
    const navigate = useNavigate();
    useEffect(() => {
        const hear = (event: MouseEvent) => {
            const at = event.target instanceof Element ? event.target : null;
            const run = dataOf(at?.closest("[data-head]") ?? null, "run");
            const group = dataOf(at, "fold");
            if (run !== undefined) return onChoose(run);
            if (group !== undefined) return onFold(group);
            const link = at?.closest("a") ?? null;
            if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            void navigate(link.pathname.slice(BASE.length));
        };
        const { current } = frame;
        current?.addEventListener("click", hear);
        return () => current?.removeEventListener("click", hear);
    }, [frame, onChoose, onFold, navigate]);
}

/** Return what the element about `at` that has it says of this. */
function dataOf(at: Element | null, name: string): string | undefined {
    const found = at?.closest(`[data-${name}]`);
    return found instanceof HTMLElement ? found.dataset[name] : undefined;
}
