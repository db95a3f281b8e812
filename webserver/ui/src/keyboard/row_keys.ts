import type { KeyboardEvent } from "react";

/** What of a row takes the keyboard. */
const REACHABLE = "a[href], button:not(:disabled), input:not(:disabled), summary";
const ROWS = "tbody > tr, [data-row]";

/** Moves the focus from row to row of the list that holds it, in the same column; for `onKeyDown` of a list's element. */
export function onRowKeys(event: KeyboardEvent<HTMLElement>): void {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    if (by === 0 || !isPlain || !(event.target instanceof Element)) return;
    const row = event.target.closest(ROWS);
    if (row === null || event.target.matches("select, textarea")) return;
    const rows = [...event.currentTarget.querySelectorAll(ROWS)];
    const next = rows[rows.indexOf(row) + by];
    if (next !== undefined && reach(next, placeIn(row, event.target))) event.preventDefault();
}

/** Give the focus to the row before or after that which has it, or to the first row of the page; false without one. */
export function stepRow(by: 1 | -1): boolean {
    const rows = [...document.querySelectorAll(`main :is(${ROWS})`)];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? rows[0] : rows[at + by];
    return next !== undefined && reach(next, placeIn(rows[at], document.activeElement));
}

/** Return in which cell of a row something is; -1 in none. */
function placeIn(row: Element | undefined, within: Element | null): number {
    return row === undefined ? -1 : [...row.children].findIndex((cell) => cell.contains(within));
}

function reach(row: Element, place: number): boolean {
    const found = row.children[place]?.querySelector<HTMLElement>(REACHABLE) ?? firstOf(row);
    found?.focus();
    found?.scrollIntoView({ block: "nearest" });
    return found !== null;
}

function firstOf(row: Element): HTMLElement | null {
    // A box to tick comes first in many rows; who walks through a list wants to open what they find.
    return row.querySelector<HTMLElement>("a[href]") ?? row.querySelector<HTMLElement>(REACHABLE);
}
