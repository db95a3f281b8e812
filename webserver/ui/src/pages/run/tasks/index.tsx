import { useMemo, useState } from "react";
import { Link } from "react-router";
import { ClearDialog } from "../../../actions/clear_dialog";
import { may, useMe } from "../../../api/rights";
import { hasFailed } from "../../../components/failures";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { StateSign, wordsOf } from "../../../components/state";
import { foldedOf } from "../../dag/folding";
import { useAddress, useFolding } from "../../dag/use_address";
import styles from "../run.module.css";
import { type TaskRow, useRun, useRunRows, useRunStates } from "../shape";
import { rowsInState, seenRows, tasksIn } from "./rows";
import { TaskTable } from "./task_table";

/** All tasks of the run with their states, in their groups. */
export function Component() {
    const run = useRun();
    const rows = useRunRows(run);
    const states = useRunStates(run.dag_id, run.run_id);
    const [address] = useAddress();
    const { toggled, fold } = useFolding();
    const me = useMe();
    const [cleared, setCleared] = useState<TaskRow | null>(null);
    const state = address.get("state") ?? "";
    const all = rows.data;
    const cells = states.data?.tasks;
    const folded = useMemo(() => foldedOf(all ?? [], toggled), [all, toggled]);
    const seen = useMemo(
        () => seenRows(rowsInState(all ?? [], cells ?? {}, state), folded),
        [all, cells, state, folded],
    );
    if (hasFailed(rows)) return <ErrorNote error={rows.error} />;
    if (hasFailed(states)) return <ErrorNote error={states.error} />;
    if (cells === undefined || all === undefined) return <Skeleton height="24rem" />;
    return (
        <>
            <StateLinks counts={run.counts} chosen={state} />
            {seen.length === 0 ? (
                <EmptyNote title="No task is in that state">
                    <p>Choose another state, or look at all tasks.</p>
                </EmptyNote>
            ) : (
                <TaskTable
                    run={run}
                    rows={seen}
                    cells={cells}
                    folded={folded}
                    onFold={fold}
                    onClear={may(me, "clear runs", run.dag_id) ? setCleared : null}
                />
            )}
            {cleared !== null && (
                <ClearDialog
                    title={`Clear the group ${cleared.label}`}
                    target={{
                        dagId: run.dag_id,
                        runId: run.run_id,
                        taskIds: tasksIn(all, cleared.id),
                        mapIndex: null,
                    }}
                    onClose={() => setCleared(null)}
                />
            )}
        </>
    );
}

function StateLinks({ counts, chosen }: { counts: Record<string, number>; chosen: string }) {
    const shown = Object.entries(counts).filter(([state, count]) => count > 0 || state === chosen);
    return (
        <nav className={styles.filter} aria-label="Tasks by state">
            <Link to={{ search: "" }} aria-current={chosen === "" ? "page" : undefined}>
                All tasks
            </Link>
            {shown.map(([state, count]) => (
                <Link
                    key={state}
                    to={{ search: `?state=${state}` }}
                    aria-current={chosen === state ? "page" : undefined}
                >
                    <StateSign state={state} /> {wordsOf(state)} {count.toLocaleString("en")}
                </Link>
            ))}
        </nav>
    );
}
