// @vitest-environment node
import { describe, expect, it } from "vitest";
import { type Durations, ordered, type Points, runSeries, taskSeries } from "./series";

const run = (state: string, seconds: number | null): Durations["runs"][number] => ({
    run_id: `r${seconds}`,
    state,
    run_type: "manual",
    run_after: null,
    queue_seconds: 0,
    seconds,
});
const task = (task_id: string, median_seconds: number | null): Durations["tasks"][number] => ({
    task_id,
    median_seconds,
    instances: 1,
    failed: 0,
    p95_seconds: null,
    longest_seconds: null,
    median_queue_seconds: null,
    most_tries: 1,
});
const point = (instances: number, median_seconds: number, failed = false): Points["points"][number] => ({
    run_id: "r",
    run_after: null,
    instances,
    tries: 1,
    failed,
    median_seconds,
    p95_seconds: median_seconds * 2,
    queue_seconds: 0.1,
});
const labels = (series: { label: string }[]) => series.map((one) => one.label);

describe("the charts of durations (case E11)", () => {
    it("have lines for the median and the 95th percentile over their whole width", () => {
        const series = runSeries({
            dag_id: "d",
            runs: [run("success", 10), run("failed", 3), run("running", null)],
            tasks: [],
            median_seconds: 10,
            p95_seconds: 12,
        });
        expect(labels(series)).toEqual(["Succeeded", "Failed", "Median", "p95"]);
        expect(series[0]?.values).toEqual([10, null, null]);
        expect(series[1]?.values).toEqual([null, 3, null]);
        expect(series[2]?.values).toEqual([10, 10, 10]);
        expect(series[3]?.values).toEqual([12, 12, 12]);
    });

    it("show of a mapped task how its instances spread in each run", () => {
        const of = (points: Points["points"]) => labels(taskSeries({ dag_id: "d", task_id: "t", points }, 1, 2));
        expect(of([point(1, 3)])).toEqual(["Ran", "Failed after", "Queued", "Median", "p95"]);
        expect(of([point(9, 3)])).toEqual(["Median of the run", "p95 of the run", "Queued", "Median", "p95"]);
    });

    it("list the slowest task first, and those without a duration last", () => {
        const tasks = [task("a", 1), task("b", null), task("c", 5)];
        expect(ordered(tasks, "median_seconds").map((one) => one.task_id)).toEqual(["c", "a", "b"]);
        expect(ordered(tasks, "task_id").map((one) => one.task_id)).toEqual(["a", "b", "c"]);
    });
});
