import { describe, expect, it } from "vitest";
import { clearBody, counted, grouped, NOTHING_AROUND, type Target } from "./bodies";

const CHOICES = { ...NOTHING_AROUND, onlyFailed: false, latestVersion: false };
const target = (mapIndex: number | null): Target => ({ dagId: "etl", runId: "r1", taskIds: ["load"], mapIndex });

describe("clearBody", () => {
    it("names a whole task, or one instance of a mapped one", () => {
        expect(clearBody(target(null), CHOICES, true).task_ids).toEqual(["load"]);
        expect(clearBody(target(-1), CHOICES, true).task_ids).toEqual(["load"]);
        expect(clearBody(target(0), CHOICES, true).task_ids).toEqual([["load", 0]]);
    });

    it("says that all states are meant, since the server means failed ones when told nothing", () => {
        expect(clearBody(target(null), CHOICES, true).only_failed).toBe(false);
    });

    it("leaves the version to the DAG unless the newest was chosen", () => {
        expect(clearBody(target(null), CHOICES, false)).not.toHaveProperty("run_on_latest_version");
        expect(clearBody(target(null), { ...CHOICES, latestVersion: true }, false).run_on_latest_version).toBe(true);
    });

    it("differs from its dry run by nothing else", () => {
        const choices = { ...CHOICES, downstream: true, past: true, onlyFailed: true };
        const { dry_run: dry, ...preview } = clearBody(target(3), choices, true);
        const { dry_run: real, ...done } = clearBody(target(3), choices, false);
        expect([dry, real]).toEqual([true, false]);
        expect(done).toEqual(preview);
        expect(done).toMatchObject({ include_downstream: true, include_past: true, include_upstream: false });
    });
});

describe("grouped", () => {
    const change = (run: string, task: string, state: string, action = "clear") => ({
        dag_run_id: run,
        task_id: task,
        map_index: -1,
        state,
        action,
    });

    it("counts instances by run, task and state, and keeps what is added apart from what is cleared", () => {
        const runs = grouped([
            change("r2", "a", "failed"),
            change("r2", "a", "success"),
            change("r2", "b", "none", "add"),
            change("r1", "a", "failed"),
        ]);
        expect(runs.map((run) => [run.runId, run.count])).toEqual([
            ["r2", 3],
            ["r1", 1],
        ]);
        expect(runs[0]?.tasks).toEqual([
            { taskId: "a", count: 2, states: { failed: 1, success: 1 }, action: "clear" },
            { taskId: "b", count: 1, states: { none: 1 }, action: "add" },
        ]);
    });
});

describe("counted", () => {
    it("has a plural from two on, and for none", () => {
        expect([0, 1, 1400].map((count) => counted(count, "task instance"))).toEqual([
            "0 task instances",
            "1 task instance",
            "1,400 task instances",
        ]);
    });
});
