import { type RefObject, useEffect } from "react";
import { useNavigate } from "react-router";
import { BASE } from "../../../api/base";

/**
 * Hear clicks on runs and cells for all of them at once, so that thousands of cells need no handler of their own: a
 * run's head chooses the run, a cell opens the task within the pages.
 */
export function useGridClicks(frame: RefObject<HTMLElement | null>, onChoose: (runId: string) => void): void {
    const navigate = useNavigate();
    useEffect(() => {
        const hear = (event: MouseEvent) => {
            const at = event.target instanceof Element ? event.target : null;
            const run = at?.closest("[data-head]")?.closest("[data-run]");
            if (run instanceof HTMLElement && run.dataset.run !== undefined) return onChoose(run.dataset.run);
            const link = at?.closest("a") ?? null;
            if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            void navigate(link.pathname.slice(BASE.length));
        };
        const { current } = frame;
        current?.addEventListener("click", hear);
        return () => current?.removeEventListener("click", hear);
    }, [frame, onChoose, navigate]);
}
