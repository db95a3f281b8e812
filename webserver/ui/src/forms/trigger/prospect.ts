interface Dag {
    is_paused: boolean;
    running_runs: number;
    queued_runs: number;
    max_active_runs: number;
    version_number: number | null;
}

/** Return what will happen to a run that is triggered now. `turnsOn`: the DAG is turned on with it. */
export function prospect(dag: Dag, turnsOn: boolean): string {
    const what = `A run of version ${dag.version_number ?? "?"} is made`;
    if (dag.is_paused && !turnsOn)
        return `${what}. The DAG is paused: the run waits in the queue until it is turned on.`;
    if (dag.running_runs >= dag.max_active_runs) {
        return `${what}. ${dag.running_runs} of ${dag.max_active_runs} runs are running: it waits until one ends.`;
    }
    if (dag.queued_runs > 0) return `${what}. It starts after the ${dag.queued_runs} that are queued.`;
    return `${what} and starts at once.`;
}
