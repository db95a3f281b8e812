import type { Cell, TaskRow } from "../shape";

/** Return the rows that are seen with some groups closed; tasks of which the run has no instance are among them. */
export function seenRows(rows: readonly TaskRow[], folded: ReadonlySet<string>): TaskRow[] {
    const hidden = new Set<string>();
    return rows.filter((row) => {
        const isHidden = row.parent !== null && (hidden.has(row.parent) || folded.has(row.parent));
        if (isHidden) hidden.add(row.id);
        return !isHidden;
    });
}

/** Return the rows that are in a state, or have an instance in it, with the groups around them. */
export function rowsInState(rows: readonly TaskRow[], cells: Readonly<Record<string, Cell>>, state: string): TaskRow[] {
    if (state === "") return [...rows];
    return rows.filter((row) => {
        const cell = cells[row.id];
        return cell !== undefined && (cell.state === state || (cell.counts[state] ?? 0) > 0);
    });
}

/** Return the seconds of the longest task, for bars beside all others. */
export function longestOf(rows: readonly TaskRow[], cells: Readonly<Record<string, Cell>>): number {
    return Math.max(0.001, ...rows.map((row) => (row.kind === "task" ? (cells[row.id]?.duration ?? 0) : 0)));
}

/** Return the tasks that are in a group, or in a group within it. */
export function tasksIn(rows: readonly TaskRow[], groupId: string): string[] {
    const groups = new Set([groupId]);
    const tasks: string[] = [];
    for (const row of rows) {
        if (row.parent === null || !groups.has(row.parent)) continue;
        if (row.kind === "group") groups.add(row.id);
        else tasks.push(row.id);
    }
    return tasks;
}
