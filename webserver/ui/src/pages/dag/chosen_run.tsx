import { queryOptions, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { Button } from "../../components/button";
import { Moment, Took } from "../../components/clock";
import { hasFailed } from "../../components/failures";
import { runPath } from "../../components/links";
import { ErrorNote } from "../../components/notes";
import { State } from "../../components/state";
import styles from "./chosen_run.module.css";
import { useAddress } from "./use_address";

/** The run that the address names: how it stands, and the way to its pages. It takes one line, chosen or not. */
export function ChosenRun({ dagId, otherwise }: { dagId: string; otherwise: ReactNode }) {
    const [address, change] = useAddress();
    const runId = address.get("run");
    return (
        <div className={styles.line}>
            {runId === null ? (
                <span className={styles.none}>{otherwise}</span>
            ) : (
                <>
                    <Run dagId={dagId} runId={runId} />
                    <Button look="quiet" onClick={() => change({ run: null })}>
                        Choose none
                    </Button>
                </>
            )}
        </div>
    );
}

/** What is asked of the run that is chosen. */
export const runQuery = (dagId: string, runId: string) =>
    queryOptions({
        queryKey: keys.run(dagId, runId, "line"),
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/runs/{run_id}", { params: { path: { dag_id: dagId, run_id: runId } } }),
            ),
    });

function Run({ dagId, runId }: { dagId: string; runId: string }) {
    const run = useQuery(runQuery(dagId, runId));
    const path = runPath(dagId, runId);
    if (hasFailed(run)) return <ErrorNote error={run.error} />;
    return (
        <>
            <Link to={path} className={styles.id} title={runId}>
                {runId}
            </Link>
            {run.data !== undefined && (
                <>
                    <State state={run.data.state} />
                    <Moment at={run.data.run_after} />
                    <span>
                        took <Took from={run.data.started_at} to={run.data.ended_at} />
                    </span>
                </>
            )}
            <Link to={`${path}/gantt`}>Gantt of the run</Link>
        </>
    );
}
