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

/** One task instance with all that its page shows. */
export function useInstance(name: InstanceName) {
    const { dagId, runId, taskId, mapIndex } = name;
    return useQuery({
        queryKey: instanceKey(name),
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

/** Return the name of an instance as people read it: its index, or the label that the DAG gives it. */
export function labelOf(taskId: string, mapIndex: number, label: string | null): string {
    return mapIndex < 0 ? taskId : `${taskId} [${label ?? mapIndex}]`;
}
