import { type RefObject, useEffect, useState } from "react";
import { PointerCard } from "../../../charts/pointer_card";
import { Moment } from "../../../components/clock";
import { State, StateCounts } from "../../../components/state";
import { lengthOf } from "../../../components/times";
import type { GridColumn, GridRow } from "./rows";

interface Target {
    run: string;
    /** The task or group; null over the run's head. */
    task: string | null;
    x: number;
    y: number;
}

interface HoverCardProps {
    frame: RefObject<HTMLElement | null>;
    columns: readonly GridColumn[];
    rows: readonly GridRow[];
}

/** What the pointer or the keyboard is on, in words. One card serves all cells. */
export function HoverCard({ frame, columns, rows }: HoverCardProps) {
    const target = useTarget(frame);
    if (target === null) return null;
    const column = columns.find((one) => one.run.run_id === target.run);
    if (column === undefined) return null;
    const row = target.task === null ? undefined : rows.find((one) => one.id === target.task);
    return (
        <PointerCard x={target.x} y={target.y}>
            {row === undefined ? <OfRun column={column} /> : <OfTask column={column} row={row} />}
        </PointerCard>
    );
}

function OfRun({ column: { run } }: { column: GridColumn }) {
    return (
        <>
            <strong>{run.run_id}</strong>
            <State state={run.state} />
            <span>
                <Moment at={run.run_after} /> · {run.run_type.replaceAll("_", " ")} · version {run.version_number}
            </span>
            <span>took {lengthOf(run.duration)}</span>
            {run.has_note && <span>has a note</span>}
        </>
    );
}

function OfTask({ column: { run, states }, row }: { column: GridColumn; row: GridRow }) {
    const state = states.get(row.id);
    const counts = run.counts[row.id];
    const tries = run.tries[row.id] ?? 1;
    return (
        <>
            <strong>{row.id}</strong>
            {state === undefined ? <span>not in this run</span> : <State state={state} />}
            {counts !== undefined && <StateCounts counts={counts} />}
            {tries > 1 && <span>{tries} tries</span>}
            <span>
                <Moment at={run.run_after} /> · {row.kind === "group" ? "group" : row.operator}
            </span>
        </>
    );
}

function useTarget(frame: RefObject<HTMLElement | null>): Target | null {
    const [target, setTarget] = useState<Target | null>(null);
    useEffect(() => {
        const { current } = frame;
        const over = (event: PointerEvent | FocusEvent) => setTarget(targetOf(event));
        const out = () => setTarget(null);
        current?.addEventListener("pointerover", over);
        current?.addEventListener("focusin", over);
        for (const name of ["pointerleave", "focusout", "scroll"])
            current?.addEventListener(name, out, { passive: true });
        return () => {
            current?.removeEventListener("pointerover", over);
            current?.removeEventListener("focusin", over);
            for (const name of ["pointerleave", "focusout", "scroll"]) current?.removeEventListener(name, out);
        };
    }, [frame]);
    return target;
}

function targetOf(event: PointerEvent | FocusEvent): Target | null {
    const at = event.target instanceof Element ? event.target.closest("[data-task], [data-head]") : null;
    const run = at?.closest("[data-run]");
    if (!(at instanceof HTMLElement) || !(run instanceof HTMLElement) || run.dataset.run === undefined) return null;
    const box = at.getBoundingClientRect();
    return { run: run.dataset.run, task: at.dataset.task ?? null, x: box.left + box.width / 2, y: box.top + 14 };
}
