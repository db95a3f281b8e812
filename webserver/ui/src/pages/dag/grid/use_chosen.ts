import type { Virtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { GridColumn } from "./rows";

/** So many runs are fetched to find one that the address names; further back one looks from the run itself. */
const MOST = 1200;

interface Loaded {
    columns: readonly { run: { run_id: string } }[];
    chosen: string | null;
    hasMore: boolean;
    onMore: () => void;
}

/** Fetch older runs until the one that the address names is among them; tell whether it is there, or is looked for. */
export function useOlder({ columns, chosen, hasMore, onMore }: Loaded): "there" | "looked for" | "not shown" {
    const isMissing = chosen !== null && columns.length > 0 && !columns.some((one) => one.run.run_id === chosen);
    const isSought = isMissing && hasMore && columns.length < MOST;
    useEffect(() => {
        if (isSought) onMore();
    }, [isSought, onMore]);
    if (!isMissing) return "there";
    return isSought ? "looked for" : "not shown";
}

/** Bring the run that the address names into sight, once. */
export function useChosenInSight(
    across: Virtualizer<HTMLDivElement, Element>,
    columns: readonly GridColumn[],
    chosen: string | null,
): void {
    const shown = useRef<string | null>(null);
    const at = chosen === null ? -1 : columns.findIndex((one) => one.run.run_id === chosen);
    useEffect(() => {
        if (at < 0 || shown.current === chosen) return;
        shown.current = chosen;
        across.scrollToIndex(at, { align: "auto" });
    }, [across, at, chosen]);
}
