import { useState } from "react";
import { answered, api, type Got } from "../../api/client";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { BulkDialog } from "../../forms/bulk/bulk_dialog";
import styles from "./dags.module.css";
import { type Filters, queryOf } from "./filters";
import { RunCount } from "./run_count";

const path = (dagId: string) => ({ params: { path: { dag_id: dagId } } });

const ACTS = {
    Pause: (dagId: string) =>
        answered(api.PATCH("/api/v2/dags/{dag_id}", { ...path(dagId), body: { is_paused: true } })),
    "Turn on": (dagId: string) =>
        answered(api.PATCH("/api/v2/dags/{dag_id}", { ...path(dagId), body: { is_paused: false } })),
    Trigger: (dagId: string) => answered(api.POST("/api/v2/dags/{dag_id}/dagRuns", { ...path(dagId), body: {} })),
    Delete: (dagId: string) => answered(api.DELETE("/api/v2/dags/{dag_id}", path(dagId))),
};
type Act = keyof typeof ACTS;

const WORDS: Record<Act, string> = {
    Pause: "No schedule makes runs of these DAGs until they are turned on again. Runs under way go on.",
    "Turn on": "Schedules make runs of these DAGs from now on.",
    Trigger: "Each of these DAGs gets one run, with the defaults of its params.",
    Delete: "These DAGs, their versions, runs, task instances and XComs are deleted; files of logs stay. A DAG with a run under way is refused, and one whose file is still there comes back without its past.",
};

/** Of more than so many the runs are not counted one by one. */
const MOST_COUNTED = 50;

const lossOf = (dagId: string) => <RunCount dagId={dagId} />;

interface BulkBarProps {
    filters: Filters;
    /** How many fit the filter, where that is known. */
    total: number | null;
    chosen: ReadonlySet<string>;
    onChosen: (chosen: ReadonlySet<string>) => void;
}

/** What can be done with all the DAGs that are chosen. */
export function BulkBar({ filters, total, chosen, onChosen }: BulkBarProps) {
    const [act, setAct] = useState<Act | null>(null);
    const me = useMe();
    const dagIds = [...chosen].sort();
    const allowed = (permission: string) => dagIds.every((dagId) => may(me, permission, dagId));
    if (dagIds.length === 0) return null;
    const what = `${dagIds.length} ${dagIds.length === 1 ? "DAG" : "DAGs"}`;
    const acts = (Object.keys(ACTS) as Act[]).filter((one) =>
        allowed(one === "Trigger" ? "trigger runs" : "edit DAGs"),
    );
    return (
        <section className={styles.bulk} aria-label="What is chosen">
            <strong>{what} chosen</strong>
            {acts.map((one) => (
                <Button key={one} look={one === "Delete" ? "danger" : "plain"} onClick={() => setAct(one)}>
                    {one}
                </Button>
            ))}
            <Button look="quiet" onClick={async () => onChosen(await allThatMatch(filters))}>
                {`Choose all${total === null ? "" : ` ${total}`} that match`}
            </Button>
            <Button look="quiet" onClick={() => onChosen(new Set())}>
                Choose none
            </Button>
            {act !== null && (
                <BulkDialog
                    title={`${act} ${what}?`}
                    things={dagIds}
                    nameOf={(dagId) => dagId}
                    button={`${act} ${what}`}
                    isDanger={act === "Delete"}
                    {...(act === "Delete" && dagIds.length <= MOST_COUNTED ? { effectOf: lossOf } : {})}
                    act={ACTS[act]}
                    onClose={() => setAct(null)}
                >
                    <p>{WORDS[act]}</p>
                </BulkDialog>
            )}
        </section>
    );
}

type Asked = ReturnType<typeof queryOf> & { recent_runs: number; cursor: string };

async function allThatMatch(filters: Filters): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (let cursor: string | null = ""; cursor !== null; ) {
        const query: Asked = { ...queryOf(filters), limit: 100, recent_runs: 0, cursor };
        const page: Got<"/ui/dags"> = await answered(api.GET("/ui/dags", { params: { query } }));
        for (const dag of page.dags) found.add(dag.dag_id);
        cursor = page.next_cursor;
    }
    return found;
}
