// @vitest-environment node
import { describe, expect, it } from "vitest";
import { type Attempt, criticalLinks, envelopeOf, type GanttShape, ganttRows, spanOf, windowOf } from "./model";

const T0 = Date.parse("2026-11-30T12:00:00Z");
const at = (seconds: number | null) => (seconds === null ? null : new Date(T0 + seconds * 1000).toISOString());

const attempt = (
    task_id: string,
    queued: number | null,
    started: number | null,
    ended: number | null,
    more = {},
): Attempt => ({
    task_id,
    map_index: -1,
    state: "success",
    try_number: 1,
    outcome: null,
    scheduled_at: null,
    queued_at: at(queued),
    started_at: at(started),
    ended_at: at(ended),
    pool: "default_pool",
    executor: null,
    hostname: null,
    ...more,
});

const row = (
    id: string,
    parent: string | null = null,
    kind: "task" | "group" = "task",
): GanttShape["rows"][number] => ({
    id,
    label: id,
    kind,
    parent,
    depth: parent === null ? 0 : 1,
    is_mapped: false,
    operator: null,
    trigger_rule: null,
    is_setup: false,
    is_teardown: false,
    is_removed: false,
});

const shape = (rows: GanttShape["rows"], bars: Attempt[], critical_path: string[] = []): GanttShape => ({
    dag_id: "d",
    run_id: "r",
    state: "success",
    version_number: 1,
    queued_at: at(0),
    started_at: at(0),
    ended_at: at(100),
    rows,
    bars,
    critical_path,
    is_truncated: false,
    expected_end_at: null,
});

const none = new Set<string>();

describe("the rows of a Gantt chart", () => {
    it("are those of the run's own version, each with its own bars (case E9)", () => {
        const v1 = shape(
            [row("a"), row("b"), row("c")],
            [attempt("a", 0, 1, 5), attempt("b", 5, 6, 9), attempt("c", 9, 10, 12)],
        );
        expect(ganttRows(v1, none).map((one) => [one.label, one.attempts.length])).toEqual([
            ["a", 1],
            ["b", 1],
            ["c", 1],
        ]);
    });

    it("have a bar for each try, with the time in the queue apart from the run time (case E9)", () => {
        const tries = [attempt("a", 0, 2, 5, { state: "failed" }), attempt("a", 10, 11, 20, { try_number: 2 })];
        const [only] = ganttRows(shape([row("a")], tries), none);
        expect(only?.attempts.map((one) => spanOf(one, T0))).toEqual([
            { waited: T0, started: T0 + 2000, ended: T0 + 5000 },
            { waited: T0 + 10_000, started: T0 + 11_000, ended: T0 + 20_000 },
        ]);
    });

    it("hide what is in a closed group, which shows all bars of it", () => {
        const grouped = shape(
            [row("g", null, "group"), row("g.a", "g"), row("b")],
            [attempt("g.a", 0, 1, 5), attempt("b", 5, 6, 9)],
            ["g.a", "b"],
        );
        expect(ganttRows(grouped, none).map((one) => one.id)).toEqual(["g", "g.a", "b"]);
        const closed = ganttRows(grouped, new Set(["g"]));
        expect(closed.map((one) => [one.id, one.attempts.length, one.isCritical])).toEqual([
            ["g", 1, true],
            ["b", 1, true],
        ]);
        expect(criticalLinks(grouped, closed, T0)).toEqual([{ fromRow: 0, toRow: 1, at: T0 + 5000, until: T0 + 5000 }]);
    });

    it("are one of a mapped task until it is opened", () => {
        const mapped = shape(
            [row("m")],
            [attempt("m", 0, 1, 5, { map_index: 0 }), attempt("m", 0, 2, 9, { map_index: 1 })],
        );
        expect(ganttRows(mapped, none).map((one) => one.label)).toEqual(["m"]);
        expect(ganttRows(mapped, new Set(["m"])).map((one) => one.label)).toEqual(["m", "[0]", "[1]"]);
        expect(envelopeOf(mapped.bars, T0)).toEqual({ from: T0, to: T0 + 9000 });
    });
});

describe("a diamond a→{b 10 s, c 60 s}→d (case E10)", () => {
    it("draws its critical path from a over c to d", () => {
        const bars = [attempt("a", 0, 0, 5), attempt("b", 5, 5, 15), attempt("c", 5, 5, 65), attempt("d", 65, 66, 71)];
        const run = shape(
            ["a", "b", "c", "d"].map((id) => row(id)),
            bars,
            ["a", "c", "d"],
        );
        const rows = ganttRows(run, none);
        expect(rows.map((one) => one.isCritical)).toEqual([true, false, true, true]);
        expect(criticalLinks(run, rows, T0).map((one) => [one.fromRow, one.toRow])).toEqual([
            [0, 2],
            [2, 3],
        ]);
    });
});

it("the chart shows the whole run, and until when it should end", () => {
    const run = { ...shape([row("a")], [attempt("a", 1, 2, null)]), ended_at: null };
    const { from, to } = windowOf(run, T0 + 10_000, T0 + 50_000);
    expect([from, to]).toEqual([T0, T0 + 51_000]);
});
