import { useNavigate } from "react-router";
import { answered, api } from "../api/client";
import { keys } from "../api/keys";
import { Button } from "../components/button";
import { Dialog } from "../components/dialog";
import { dagPath } from "../components/links";
import { ErrorNote } from "../components/notes";
import styles from "./actions.module.css";
import { counted } from "./bodies";
import { useAction } from "./use_action";

const FINISHED = new Set(["success", "failed"]);

interface DeleteRunDialogProps {
    dagId: string;
    runId: string;
    state: string;
    counts: Record<string, number>;
    onClose: () => void;
}

/** Takes a run away for good, having told what goes with it. */
export function DeleteRunDialog({ dagId, runId, state, counts, onClose }: DeleteRunDialogProps) {
    const navigate = useNavigate();
    const isOver = FINISHED.has(state);
    const params = { path: { dag_id: dagId, dag_run_id: runId }, query: isOver ? {} : { end_first: true } };
    const remove = useAction(
        () => answered(api.DELETE("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", { params })),
        [[...keys.dag(dagId), "overview"], keys.home, keys.runs],
        // Before anything asks for the run that is no more.
        () => void navigate(dagPath(dagId)),
    );
    const count = Object.values(counts).reduce((sum, one) => sum + one, 0);
    return (
        <Dialog
            title="Delete the run"
            onClose={onClose}
            actions={
                <Button look="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
                    {isOver ? "Delete the run" : "End and delete the run"} and {counted(count, "task instance")}
                </Button>
            }
        >
            <ul className={styles.effects}>
                {!isOver && <li>The run is {state}: its tasks are ended first.</li>}
                <li>
                    The run {runId} and its {counted(count, "task instance")} are deleted, with their attempts, XComs
                    and notes. That cannot be taken back.
                </li>
            </ul>
            {remove.error !== null && <ErrorNote error={remove.error} />}
        </Dialog>
    );
}
