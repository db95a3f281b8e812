import type { Got } from "../../../api/client";
import type { Series } from "../../../charts/line_chart";

export type Durations = Got<"/ui/dags/{dag_id}/durations">;
export type Points = Got<"/ui/dags/{dag_id}/durations/{task_id}">;
type Run = Durations["runs"][number];

/** Return the lines of the runs' chart: those that succeeded and those that did not, median and 95th percentile. */
export function runSeries({ runs, median_seconds, p95_seconds }: Durations): Series[] {
    const of = (isWanted: (run: Run) => boolean) => runs.map((run) => (isWanted(run) ? run.seconds : null));
    return [
        {
            label: "Succeeded",
            colour: "var(--state-success)",
            look: "bars",
            values: of((run) => run.state === "success"),
        },
        { label: "Failed", colour: "var(--state-failed)", look: "bars", values: of((run) => run.state === "failed") },
        ...levels(runs.length, median_seconds, p95_seconds),
    ];
}

/** Return the lines of a task's chart. Of a mapped task each run has a median and a 95th percentile of its own. */
export function taskSeries({ points }: Points, median: number | null, p95: number | null): Series[] {
    const isMapped = points.some((point) => point.instances > 1);
    const ran: Series[] = isMapped
        ? [
              {
                  label: "Median of the run",
                  colour: "var(--state-running)",
                  look: "line",
                  values: points.map((one) => one.median_seconds),
              },
              {
                  label: "p95 of the run",
                  colour: "var(--state-deferred)",
                  look: "line",
                  values: points.map((one) => one.p95_seconds),
              },
          ]
        : [
              {
                  label: "Ran",
                  colour: "var(--state-success)",
                  look: "bars",
                  values: points.map((one) => (one.failed ? null : one.median_seconds)),
              },
              {
                  label: "Failed after",
                  colour: "var(--state-failed)",
                  look: "bars",
                  values: points.map((one) => (one.failed ? one.median_seconds : null)),
              },
          ];
    const queued: Series = {
        label: "Queued",
        colour: "var(--state-queued)",
        look: "line",
        values: points.map((one) => one.queue_seconds),
    };
    return [...ran, queued, ...levels(points.length, median, p95)];
}

function levels(count: number, median: number | null, p95: number | null): Series[] {
    const level = (label: string, value: number | null, colour: string): Series => ({
        label,
        colour,
        look: "dashed",
        values: Array.from({ length: count }, () => value),
    });
    return [level("Median", median, "var(--accent)"), level("p95", p95, "var(--state-upstream_failed)")];
}

export const ORDERS = ["task_id", "median_seconds", "p95_seconds", "failed"] as const;
export type Order = (typeof ORDERS)[number];

/** Return the tasks in an order: by name, or by a number with the greatest first. */
export function ordered(tasks: Durations["tasks"], order: Order): Durations["tasks"] {
    if (order === "task_id") return tasks.toSorted((a, b) => a.task_id.localeCompare(b.task_id));
    return tasks.toSorted((a, b) => (b[order] ?? -1) - (a[order] ?? -1));
}
