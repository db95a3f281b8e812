/** The names under which the cache keeps answers. A key that begins another covers it, so that the live stream can name
 * all that concerns a DAG or a run at once. What shows several runs of a DAG stands under its `overview`. */
export const keys = {
    me: ["me"] as const,
    home: ["home"] as const,
    pools: ["pools"] as const,
    assets: ["assets"] as const,
    humanSteps: ["human-steps"] as const,
    timeline: ["timeline"] as const,
    runs: ["runs"] as const,
    admin: ["admin"] as const,
    dags: ["dags"] as const,
    dag: (dagId: string) => ["dag", dagId] as const,
    dagOverview: (dagId: string, ...rest: unknown[]) => ["dag", dagId, "overview", ...rest] as const,
    run: (dagId: string, runId: string, ...rest: unknown[]) => ["dag", dagId, "run", runId, ...rest] as const,
};
