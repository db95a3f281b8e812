import { Link, useLocation } from "react-router";
import { NoteEditor } from "../../actions/note_editor";
import { RunActions } from "../../actions/run_actions";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { FromNow, Moment, Took } from "../../components/clock";
import { Crumbs } from "../../components/crumbs";
import { Fact, Facts } from "../../components/facts";
import { JsonView } from "../../components/json_view";
import { dagPath, runPath } from "../../components/links";
import { PageHead } from "../../components/page";
import { State, StateCounts, wordsOf } from "../../components/state";
import { WhyNote } from "../../components/why_note";
import styles from "./run.module.css";
import type { Run } from "./shape";

/** What the run is, in which state, why, and what can be done with it. */
export function RunHead({ run }: { run: Run }) {
    const { dag_id: dagId, run_id: runId } = run;
    return (
        <div className={styles.head}>
            <div className={styles.top}>
                <Crumbs crumbs={[{ to: dagPath(dagId), label: run.dag_name }]} />
                <Neighbours run={run} />
            </div>
            <PageHead title={runId} actions={<RunActions run={run} />}>
                <span className={styles.states}>
                    <State state={run.state} />
                    {run.ending !== null && run.ending !== run.state && <span>ends as {wordsOf(run.ending)}</span>}
                    <StateCounts counts={run.counts} />
                </span>
            </PageHead>
            <RunFacts run={run} />
            <TriggerWarnings />
            {run.why !== null && <WhyNote why={run.why} />}
            <div className={styles.more}>
                {Object.keys(run.conf).length > 0 && (
                    <details>
                        <summary>Configuration</summary>
                        <JsonView value={run.conf} />
                    </details>
                )}
                <details open={run.note !== null}>
                    <summary>Note</summary>
                    <NoteEditor
                        dagId={dagId}
                        note={run.note}
                        stale={keys.run(dagId, runId)}
                        save={(note) =>
                            answered(
                                api.PATCH("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", {
                                    params: {
                                        path: { dag_id: dagId, dag_run_id: runId },
                                        query: { update_mask: ["note"] },
                                    },
                                    body: { note },
                                }),
                            )
                        }
                    />
                </details>
            </div>
        </div>
    );
}

/** What the server found odd in the conf of the run that was just triggered; gone with the next page. */
function TriggerWarnings() {
    const { state } = useLocation();
    const warnings: unknown = state?.warnings;
    if (!Array.isArray(warnings)) return null;
    return warnings.map((warning) => (
        <p key={String(warning)} className={styles.warning} role="status">
            {String(warning)}
        </p>
    ));
}

function RunFacts({ run }: { run: Run }) {
    return (
        <Facts>
            <Fact name="Started">
                <Moment at={run.started_at} />
            </Fact>
            <Fact name="Took">
                <Took from={run.started_at} to={run.ended_at} />
            </Fact>
            <Fact name="Type">
                {run.run_type}
                {run.triggering_user !== null && `, by ${run.triggering_user}`}
                {run.queued_at !== null && (
                    <>
                        , <FromNow at={run.queued_at} />
                    </>
                )}
            </Fact>
            {run.logical_date !== null && (
                <Fact name="Logical date">
                    <Moment at={run.logical_date} />
                </Fact>
            )}
            {run.interval_start !== null && run.interval_start !== run.interval_end && (
                <Fact name="Interval">
                    <Moment at={run.interval_start} /> to <Moment at={run.interval_end} />
                </Fact>
            )}
            {run.partition_key !== null && <Fact name="Partition">{run.partition_key}</Fact>}
            {run.clear_number > 0 && (
                <Fact name="Cleared">{run.clear_number === 1 ? "once" : `${run.clear_number} times`}</Fact>
            )}
            <Fact name="Version">{run.version_number}</Fact>
        </Facts>
    );
}

function Neighbours({ run }: { run: Run }) {
    // Who goes from run to run looks at the same part of each.
    const part = /\/(graph|gantt|events)$/.exec(useLocation().pathname)?.[0] ?? "";
    return (
        <nav className={styles.neighbours} aria-label="Runs beside this one">
            {run.previous_run_id !== null && (
                <Link to={runPath(run.dag_id, run.previous_run_id) + part}>← Previous run</Link>
            )}
            {run.next_run_id !== null && <Link to={runPath(run.dag_id, run.next_run_id) + part}>Next run →</Link>}
        </nav>
    );
}
