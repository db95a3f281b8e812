import { answered, api } from "../api/client";
import { keys } from "../api/keys";
import { Button } from "../components/button";
import { Dialog } from "../components/dialog";
import { ErrorNote } from "../components/notes";
import styles from "./actions.module.css";
import { counted, endedByMark } from "./bodies";
import { useAction } from "./use_action";

interface MarkRunDialogProps {
    dagId: string;
    runId: string;
    state: "success" | "failed";
    /** The run's task instances by state. */
    counts: Record<string, number>;
    onClose: () => void;
}

/** Ends a run as one says, having told what that does to its tasks. */
export function MarkRunDialog({ dagId, runId, state, counts, onClose }: MarkRunDialogProps) {
    const params = { path: { dag_id: dagId, dag_run_id: runId } };
    const mark = useAction(
        () => answered(api.PATCH("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", { params, body: { state } })),
        [keys.dag(dagId)],
        onClose,
    );
    const { ended, skipped } = endedByMark(counts);
    return (
        <Dialog
            title={`Mark the run as ${state}`}
            onClose={onClose}
            actions={
                <Button look="main" disabled={mark.isPending} onClick={() => mark.mutate()}>
                    Mark the run as {state}
                </Button>
            }
        >
            <ul className={styles.effects}>
                {ended > 0 && (
                    <li>
                        {counted(ended, "task instance")} under way {ended === 1 ? "is" : "are"} ended as {state}.
                    </li>
                )}
                {skipped > 0 && (
                    <li>
                        {counted(skipped, "task instance")} that {skipped === 1 ? "waits is" : "wait are"} skipped.
                    </li>
                )}
                {ended + skipped === 0 ? (
                    <li>All task instances have ended and keep their states.</li>
                ) : (
                    <li>Teardowns of setups that succeeded still run; the run ends after them.</li>
                )}
            </ul>
            {mark.error !== null && <ErrorNote error={mark.error} />}
        </Dialog>
    );
}
