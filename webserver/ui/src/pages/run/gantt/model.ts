import type { Got } from "../../../api/client";

export type GanttShape = Got<"/ui/dags/{dag_id}/runs/{run_id}/gantt">;
export type Attempt = GanttShape["bars"][number];
type RowShape = GanttShape["rows"][number];

/** A line of the chart: a group, a task, or one instance of a mapped task. */
export interface GanttRow {
    id: string;
    taskId: string;
    label: string;
    kind: "group" | "task" | "instance";
    depth: number;
    /** All attempts of it; of a group and of a mapped task those of all that is in it. */
    attempts: Attempt[];
    canOpen: boolean;
    isOpen: boolean;
    isCritical: boolean;
    isRemoved: boolean;
}

/** From how many rows on groups are closed until one opens them. */
const MANY = 200;

/**
 * Return the rows that are seen. Mapped tasks are one row until they are opened; groups are open unless there are many
 * rows. `toggled` are those that somebody opened or closed.
 */
export function ganttRows(shape: GanttShape, toggled: ReadonlySet<string>): GanttRow[] {
    const of = attemptsByRow(shape);
    const critical = new Set(shape.critical_path);
    const isMuch = shape.rows.length > MANY;
    const hidden = new Set<string>();
    const found: GanttRow[] = [];
    for (const row of shape.rows) {
        const isHidden = row.parent !== null && hidden.has(row.parent);
        const isOpen = isOpenIn(row, toggled, isMuch);
        if (isHidden || (row.kind === "group" && !isOpen)) hidden.add(row.id);
        if (isHidden) continue;
        const one = rowOf(row, of.get(row.id) ?? [], isOpen);
        found.push({ ...one, isCritical: critical.has(row.id) });
        if (one.kind === "task" && one.canOpen && isOpen) found.push(...instancesOf(one));
    }
    markClosedGroups(found, shape, critical);
    return found;
}

function isOpenIn(row: RowShape, toggled: ReadonlySet<string>, isMuch: boolean): boolean {
    const isOpenAtFirst = row.kind === "group" && !isMuch;
    return toggled.has(row.id) !== isOpenAtFirst;
}

function rowOf(row: RowShape, attempts: Attempt[], isOpen: boolean): GanttRow {
    const isMapped = attempts.some((one) => one.map_index >= 0);
    return {
        id: row.id,
        taskId: row.id,
        label: row.label,
        kind: row.kind,
        depth: row.depth,
        attempts,
        canOpen: row.kind === "group" || isMapped,
        isOpen,
        isCritical: false,
        isRemoved: row.is_removed,
    };
}

function instancesOf(row: GanttRow): GanttRow[] {
    const of = new Map<number, Attempt[]>();
    for (const one of row.attempts) of.set(one.map_index, [...(of.get(one.map_index) ?? []), one]);
    return [...of].map(([index, attempts]) => ({
        ...row,
        id: `${row.id}\n${index}`,
        label: `[${index}]`,
        kind: "instance",
        depth: row.depth + 1,
        attempts,
        canOpen: false,
        isCritical: false,
    }));
}

/** Return the attempts of each task, and of each group those of all that is in it. */
function attemptsByRow(shape: GanttShape): Map<string, Attempt[]> {
    const parents = new Map(shape.rows.map((row) => [row.id, row.parent]));
    const found = new Map<string, Attempt[]>(shape.rows.map((row) => [row.id, []]));
    for (const attempt of shape.bars) {
        for (
            let id: string | null | undefined = attempt.task_id;
            id !== null && id !== undefined;
            id = parents.get(id)
        ) {
            found.get(id)?.push(attempt);
        }
    }
    return found;
}

/** A closed group is critical when a task in it is: the path goes through it. */
function markClosedGroups(rows: GanttRow[], shape: GanttShape, critical: ReadonlySet<string>): void {
    const parents = new Map(shape.rows.map((row) => [row.id, row.parent]));
    const closed = new Map(rows.filter((row) => row.kind === "group" && !row.isOpen).map((row) => [row.id, row]));
    for (const task of critical) {
        for (let id = parents.get(task); id !== null && id !== undefined; id = parents.get(id)) {
            const row = closed.get(id);
            if (row !== undefined) row.isCritical = true;
        }
    }
}

/** When an attempt began to wait, ran and ended, in milliseconds; what has no end yet ends now. */
export interface Span {
    waited: number;
    started: number | null;
    ended: number;
}

/** Return the times of an attempt; null of what never began to wait. */
export function spanOf(attempt: Attempt, now: number): Span | null {
    const first = attempt.queued_at ?? attempt.scheduled_at ?? attempt.started_at;
    if (first === null) return null;
    const waited = Math.min(Date.parse(attempt.scheduled_at ?? first), Date.parse(first));
    const started = attempt.started_at === null ? null : Date.parse(attempt.started_at);
    return { waited, started, ended: attempt.ended_at === null ? Math.max(now, waited) : Date.parse(attempt.ended_at) };
}

/** Return from when to when all attempts together waited or ran; null where none did. */
export function envelopeOf(attempts: readonly Attempt[], now: number): { from: number; to: number } | null {
    const spans = attempts.flatMap((one) => spanOf(one, now) ?? []);
    if (spans.length === 0) return null;
    return { from: Math.min(...spans.map((one) => one.waited)), to: Math.max(...spans.map((one) => one.ended)) };
}

/** Return the part of time that the chart shows: the run, with a little room, and all that it should end by. */
export function windowOf(shape: GanttShape, now: number, eta: number | null): { from: number; to: number } {
    const all = envelopeOf(shape.bars, now);
    const began = Date.parse(shape.queued_at ?? shape.started_at ?? "") || all?.from || now;
    const ended = shape.ended_at === null ? Math.max(now, eta ?? 0) : Date.parse(shape.ended_at);
    const from = Math.min(began, all?.from ?? began);
    const to = Math.max(ended, all?.to ?? ended, from + 500);
    return { from, to: to + (to - from) * 0.02 };
}

/** A step of the critical path: from the end of one row to the beginning of another. */
export interface Link {
    fromRow: number;
    toRow: number;
    at: number;
    until: number;
}

/** Return the steps of the critical path between the rows that are seen. */
export function criticalLinks(shape: GanttShape, rows: readonly GanttRow[], now: number): Link[] {
    const places = placesOf(shape, rows);
    const newest = new Map<string, Span>();
    for (const attempt of shape.bars) {
        const span = spanOf(attempt, now);
        const known = newest.get(attempt.task_id);
        if (span !== null && (known === undefined || span.ended > known.ended)) newest.set(attempt.task_id, span);
    }
    return shape.critical_path.slice(1).flatMap((task, at) => {
        const before = shape.critical_path[at] ?? "";
        const [fromRow, toRow] = [places.get(before), places.get(task)];
        const [end, begin] = [newest.get(before)?.ended, newest.get(task)];
        if (fromRow === undefined || toRow === undefined || fromRow === toRow) return [];
        if (end === undefined || begin === undefined) return [];
        return [{ fromRow, toRow, at: end, until: Math.max(end, begin.waited) }];
    });
}

/** Return, by task, the row that shows it: its own, or the closed group that it is in. */
function placesOf(shape: GanttShape, rows: readonly GanttRow[]): Map<string, number> {
    const seen = new Map(rows.map((row, at) => [row.id, at]));
    const parents = new Map(shape.rows.map((row) => [row.id, row.parent]));
    const found = new Map<string, number>();
    for (const row of shape.rows) {
        let id: string | null | undefined = row.id;
        while (id !== null && id !== undefined && !seen.has(id)) id = parents.get(id);
        const place = id === null || id === undefined ? undefined : seen.get(id);
        if (place !== undefined) found.set(row.id, place);
    }
    return found;
}
