import { useQuery } from "@tanstack/react-query";
import { answered, api, type Got } from "../../api/client";
import { keys } from "../../api/keys";

export type Instance = Got<"/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}">;
export type Attempt = Instance["attempts"][number];

/** Which task instance; a map index below 0 is that of a task which is not mapped. */
export interface InstanceName {
    dagId: string;
    runId: string;
    taskId: string;
    mapIndex: number;
}

/** Return the key of an answer about a task instance; the live stream makes it stale with its run. */
export function instanceKey({ dagId, runId, taskId, mapIndex }: InstanceName, ...rest: unknown[]) {
    return keys.run(dagId, runId, "task", taskId, mapIndex, ...rest);
}

/** Whether a task has instances of which none is named: of these the list is shown. Undefined while it is not known. */
export function useIsMapped(name: InstanceName): boolean | undefined {
    const { dagId, runId, taskId, mapIndex } = name;
    const first = useQuery({
        queryKey: instanceKey(name, "first"),
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}/instances", {
                    params: { path: { dag_id: dagId, run_id: runId, task_id: taskId }, query: { limit: 1 } },
                }),
            ),
        enabled: mapIndex < 0,
    });
    if (mapIndex >= 0) return false;
    // What is refused here, is told by the instance itself, in a better sentence.
    if (first.isError) return false;
    return first.data?.instances.some((one) => one.map_index >= 0);
}

/** One task instance with all that its page shows. */
export function useInstance(name: InstanceName, isAsked: boolean) {
    const { dagId, runId, taskId, mapIndex } = name;
    return useQuery({
        queryKey: instanceKey(name),
        enabled: isAsked,
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}", {
                    params: {
                        path: { dag_id: dagId, run_id: runId, task_id: taskId },
                        query: { map_index: mapIndex },
                    },
                }),
            ),
    });
}

/** Return an error of an attempt in a line: its type, and what it says. */
export function errorWords(error: Record<string, unknown>): string {
    const kind = typeof error.type === "string" ? error.type : error.kind;
    return [kind, error.message].filter((part) => typeof part === "string" && part !== "").join(": ");
}

/** Return the name of an instance as people read it: its index, or the label that the DAG gives it. */
export function labelOf(taskId: string, mapIndex: number, label: string | null): string {
    return mapIndex < 0 ? taskId : `${taskId} [${label ?? mapIndex}]`;
}
