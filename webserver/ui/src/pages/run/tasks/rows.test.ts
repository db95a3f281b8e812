import { describe, expect, it } from "vitest";
import type { Cell, TaskRow } from "../shape";
import { longestOf, rowsInState, seenRows, tasksIn } from "./rows";

const row = (id: string, kind: "task" | "group", parent: string | null): TaskRow => ({
    id,
    label: id,
    kind,
    parent,
    depth: 0,
    is_mapped: false,
    operator: null,
    trigger_rule: null,
    is_setup: false,
    is_teardown: false,
    is_removed: false,
});
const cell = (state: string, counts: Record<string, number>, duration: number): Cell => ({
    state,
    counts,
    is_mapped: false,
    tries: 1,
    started_at: null,
    ended_at: null,
    duration,
});
const ROWS = [row("g", "group", null), row("g.h", "group", "g"), row("g.h.a", "task", "g.h"), row("b", "task", null)];
const ids = (rows: readonly TaskRow[]) => rows.map((one) => one.id);

describe("rows of a run's tasks", () => {
    it("are hidden with all that is within a closed group", () => {
        expect(ids(seenRows(ROWS, new Set(["g"])))).toEqual(["g", "b"]);
        expect(ids(seenRows(ROWS, new Set(["g.h"])))).toEqual(["g", "g.h", "b"]);
    });

    it("are those of a state, also where only one of many instances is in it", () => {
        const cells = {
            g: cell("running", { running: 1, failed: 1 }, 900),
            "g.h": cell("running", { running: 1, failed: 1 }, 900),
            "g.h.a": cell("running", { running: 1, failed: 1 }, 20),
            b: cell("success", { success: 1 }, 40),
        };
        expect(ids(rowsInState(ROWS, cells, "failed"))).toEqual(["g", "g.h", "g.h.a"]);
        expect(ids(rowsInState(ROWS, cells, ""))).toEqual(ids(ROWS));
        expect(longestOf(ROWS, cells)).toBe(40);
    });

    it("tell which tasks are in a group, however deep", () => {
        expect(tasksIn(ROWS, "g")).toEqual(["g.h.a"]);
        expect(tasksIn(ROWS, "b")).toEqual([]);
    });
});
