import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../api/client";
import { keys } from "../api/keys";
import { Button } from "../components/button";
import { Dialog } from "../components/dialog";
import { ErrorNote, Skeleton } from "../components/notes";
import { counted, grouped } from "./bodies";
import { Impact } from "./impact";
import { useAction } from "./use_action";

interface MarkRunDialogProps {
    dagId: string;
    runId: string;
    state: "success" | "failed";
    onClose: () => void;
}

/** Ends a run as one says, having told which task instances that ends, and as what. */
export function MarkRunDialog({ dagId, runId, state, onClose }: MarkRunDialogProps) {
    const params = { path: { dag_id: dagId, dag_run_id: runId } };
    const body = { state };
    const preview = useQuery({
        queryKey: keys.run(dagId, runId, "mark run", state),
        queryFn: () => answered(api.PATCH("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/dry_run", { params, body })),
        gcTime: 0,
    });
    const mark = useAction(
        () => answered(api.PATCH("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", { params, body })),
        [keys.dag(dagId)],
        onClose,
    );
    const error = mark.error ?? preview.error;
    const changes = preview.data?.changes.map((one) => ({ ...one, dag_run_id: runId, action: one.new_state })) ?? [];
    const teardowns = preview.data?.teardowns ?? [];
    return (
        <Dialog
            title={`Mark the run as ${state}`}
            onClose={onClose}
            actions={
                <Button
                    look="main"
                    disabled={preview.data === undefined || mark.isPending}
                    onClick={() => mark.mutate()}
                >
                    Mark the run as {state}
                    {changes.length > 0 && ` and end ${counted(changes.length, "task instance")}`}
                </Button>
            }
        >
            {error !== null && <ErrorNote error={error} />}
            {preview.isPending && <Skeleton height="8rem" />}
            {preview.data !== undefined && (
                <Impact
                    runs={grouped(changes)}
                    none="No task instance changes: all have ended and keep their states."
                />
            )}
            {teardowns.length > 0 && (
                <p>
                    {teardowns.join(", ")} still {teardowns.length === 1 ? "runs" : "run"}, to clean up what was set up;
                    the run ends as {state} after that.
                </p>
            )}
        </Dialog>
    );
}
