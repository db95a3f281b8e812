import type { Got } from "../../../api/client";
import { BLOCK } from "./measures";

export type GridPage = Got<"/ui/dags/{dag_id}/grid">;
export type GridRow = GridPage["rows"][number];
export type GridRun = GridPage["runs"][number];

/** A run with its states by row, whatever the order of rows on the page that it came with. */
export interface GridColumn {
    run: GridRun;
    states: ReadonlyMap<string, string>;
}

/** Return the rows of all pages: those of the newest, and after them tasks that only older runs have. */
export function rowsOf(pages: readonly GridPage[]): GridRow[] {
    const rows = new Map<string, GridRow>();
    for (const page of pages) {
        for (const row of page.rows) if (!rows.has(row.id)) rows.set(row.id, row);
    }
    return [...rows.values()];
}

/** Return the rows that are seen when the groups in `folded` are closed; a group stands before what is in it. */
export function visibleRows(rows: readonly GridRow[], folded: ReadonlySet<string>): GridRow[] {
    const hidden = new Set<string>();
    return rows.filter((row) => {
        const isHidden = row.parent !== null && (hidden.has(row.parent) || folded.has(row.parent));
        if (isHidden) hidden.add(row.id);
        return !isHidden;
    });
}

/** Return the columns of all pages, the newest run first. */
export function columnsOf(pages: readonly GridPage[]): GridColumn[] {
    return pages.flatMap((page) => page.runs.map((run) => ({ run, states: statesOf(page.rows, run) })));
}

function statesOf(rows: readonly GridRow[], run: GridRun): Map<string, string> {
    const states = new Map<string, string>();
    rows.forEach((row, at) => {
        const state = run.states[at];
        if (state !== null && state !== undefined) states.set(row.id, state);
    });
    return states;
}

/** Return the rows whose name has `text` in it, with the groups around them; all rows without a text. */
export function rowsNamed(rows: readonly GridRow[], text: string): GridRow[] {
    const wanted = text.toLowerCase();
    const parents = new Map(rows.map((row) => [row.id, row.parent]));
    const kept = new Set<string>();
    for (const row of rows) {
        if (!row.id.toLowerCase().includes(wanted)) continue;
        let one: string | null | undefined = row.id;
        while (one !== null && one !== undefined && !kept.has(one)) {
            kept.add(one);
            one = parents.get(one);
        }
    }
    return rows.filter((row) => kept.has(row.id));
}

/** Return rows in blocks of `size`, each of which is drawn or left out as a whole. */
export function blocksOf(rows: readonly GridRow[], size: number): (readonly GridRow[])[] {
    return Array.from({ length: Math.ceil(rows.length / size) }, (_, at) => rows.slice(at * size, (at + 1) * size));
}

/**
 * The blocks that a column draws while rows `first` to `last` are seen. Each column reaches a little further than the one
 * beside it, so that as one scrolls down a few columns get a block with each row, and not all at every eighth.
 */
export function blocksOfColumn(column: number, first: number, last: number): { firstBlock: number; lastBlock: number } {
    const further = column % BLOCK;
    return {
        firstBlock: Math.floor(Math.max(0, first - further) / BLOCK),
        lastBlock: Math.floor((last + further) / BLOCK),
    };
}

/**
 * Put runs that were fetched anew in place of what `pages` say of them. Runs that are not on any page go before the
 * newest one; those older than all that is shown are left out, and so are those of `asked` that did not come back: the
 * filter does not want them any more.
 */
export function withFresh(
    pages: readonly GridPage[],
    fresh: GridPage,
    asked: ReadonlySet<string> = new Set(),
): GridPage[] {
    const replaced = new Map(fresh.runs.map((run) => [run.run_id, run]));
    const known = new Set(pages.flatMap((page) => page.runs.map((run) => run.run_id)));
    const newest = pages[0]?.runs[0]?.run_after ?? "";
    const added = fresh.runs.filter((run) => !known.has(run.run_id) && (run.run_after ?? "") >= newest);
    return pages.map((page, at) => {
        const kept = page.runs.filter((run) => replaced.has(run.run_id) || !asked.has(run.run_id));
        const runs = kept.map((run) => {
            const other = replaced.get(run.run_id);
            return other === undefined ? run : reordered(other, fresh.rows, page.rows);
        });
        const before = at === 0 ? added.map((run) => reordered(run, fresh.rows, page.rows)) : [];
        return { ...page, runs: [...before, ...runs] };
    });
}

/** Return a run with its states in the order of other rows. */
function reordered(run: GridRun, from: readonly GridRow[], to: readonly GridRow[]): GridRun {
    const states = statesOf(from, run);
    return { ...run, states: to.map((row) => states.get(row.id) ?? null) };
}
