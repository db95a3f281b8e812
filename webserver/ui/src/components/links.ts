/** The addresses of things; ids may hold any character. */
export const dagPath = (dagId: string): string => `/dags/${encodeURIComponent(dagId)}`;

export const runPath = (dagId: string, runId: string): string => `${dagPath(dagId)}/runs/${encodeURIComponent(runId)}`;

/** The grid of a DAG, looked back from a moment: the runs before it, and of these perhaps one that is chosen. */
export function gridPath(dagId: string, until: string, runId?: string): string {
    const words = new URLSearchParams(runId === undefined ? { until } : { until, run: runId });
    return `${dagPath(dagId)}?${words}`;
}

/** A map index is part of an instance's address only where the task is mapped. */
export function taskPath(dagId: string, runId: string, taskId: string, mapIndex = -1): string {
    const path = `${runPath(dagId, runId)}/tasks/${encodeURIComponent(taskId)}`;
    return mapIndex < 0 ? path : `${path}/${mapIndex}`;
}
