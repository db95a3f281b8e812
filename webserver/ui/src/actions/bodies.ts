import type { components } from "../api/schema";

export type ClearBody = components["schemas"]["ClearBody"];

/** What an action is for: tasks of a run, and of a mapped one a single instance (null: all of them). */
export interface Target {
    dagId: string;
    runId: string;
    taskIds: readonly string[];
    mapIndex: number | null;
}

/** What more is included than what is named. */
export interface Around {
    upstream: boolean;
    downstream: boolean;
    past: boolean;
    future: boolean;
}

export interface ClearChoices extends Around {
    onlyFailed: boolean;
    latestVersion: boolean;
}

export const NOTHING_AROUND: Around = { upstream: false, downstream: false, past: false, future: false };

/** Return what is sent to clear task instances, or to be told what that would do. */
export function clearBody(target: Target, choices: ClearChoices, dryRun: boolean): ClearBody {
    const { mapIndex } = target;
    return {
        dry_run: dryRun,
        dag_run_id: target.runId,
        task_ids: target.taskIds.map((taskId): string | [string, number] =>
            mapIndex === null || mapIndex < 0 ? taskId : [taskId, mapIndex],
        ),
        only_failed: choices.onlyFailed,
        // Left out where it is not chosen: then the DAG says it.
        ...(choices.latestVersion ? { run_on_latest_version: true } : {}),
        ...aroundBody(choices),
    };
}

/** Return what is sent to clear a run, or to be told what that would do. */
export function clearRunBody(choices: Pick<ClearChoices, "onlyFailed" | "latestVersion">, dryRun: boolean) {
    return {
        dry_run: dryRun,
        only_failed: choices.onlyFailed,
        only_new: false as const,
        ...(choices.latestVersion ? { run_on_latest_version: true } : {}),
    };
}

/** Return the names that the server has for what is included. */
export function aroundBody(around: Around) {
    return {
        include_upstream: around.upstream,
        include_downstream: around.downstream,
        include_past: around.past,
        include_future: around.future,
    };
}

interface Change {
    dag_run_id: string;
    task_id: string;
    map_index: number;
    state: string | null;
    action?: string;
}

/** Of one run, how many instances of each task are concerned, and from which states. */
export interface RunOfChanges {
    runId: string;
    count: number;
    tasks: { taskId: string; count: number; states: Record<string, number>; action: string }[];
}

/** Return changes grouped by run and task, in the order in which they came. */
export function grouped(changes: readonly Change[]): RunOfChanges[] {
    const runs = new Map<string, RunOfChanges>();
    for (const change of changes) {
        const run = runs.get(change.dag_run_id) ?? { runId: change.dag_run_id, count: 0, tasks: [] };
        runs.set(change.dag_run_id, run);
        run.count += 1;
        const action = change.action ?? "";
        let task = run.tasks.find((one) => one.taskId === change.task_id && one.action === action);
        if (task === undefined) {
            task = { taskId: change.task_id, count: 0, states: {}, action };
            run.tasks.push(task);
        }
        task.count += 1;
        const state = change.state ?? "none";
        task.states[state] = (task.states[state] ?? 0) + 1;
    }
    return [...runs.values()];
}

/** Return a number with its noun: "1 task instance", "14 task instances". */
export function counted(count: number, noun: string): string {
    return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
