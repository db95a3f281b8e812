import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../api/client";
import { keys } from "../api/keys";
import { Button } from "../components/button";
import { Dialog } from "../components/dialog";
import { ErrorNote, Skeleton } from "../components/notes";
import { aroundBody, counted, grouped, NOTHING_AROUND } from "./bodies";
import { AROUND_NAMES, Choices } from "./choices";
import { Impact } from "./impact";
import { useAction } from "./use_action";

export type MarkState = "success" | "failed" | "skipped";

interface MarkDialogProps {
    dagId: string;
    runId: string;
    taskId: string;
    /** null: all instances of the task. */
    mapIndex: number | null;
    state: MarkState;
    onClose: () => void;
}

/** Sets the state of tasks, having shown of which. */
export function MarkDialog({ dagId, runId, taskId, mapIndex, state, onClose }: MarkDialogProps) {
    const [around, setAround] = useState(NOTHING_AROUND);
    const path = { dag_id: dagId, dag_run_id: runId, task_id: taskId };
    const params = { path, query: mapIndex === null ? {} : { map_index: mapIndex } };
    const body = { new_state: state, ...aroundBody(around) };
    const preview = useQuery({
        queryKey: keys.run(dagId, runId, "mark", taskId, mapIndex, state, around),
        queryFn: () =>
            answered(
                api.PATCH("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/dry_run", {
                    params,
                    body,
                }),
            ),
        placeholderData: keepPreviousData,
        gcTime: 0,
    });
    const mark = useAction(
        () =>
            answered(api.PATCH("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}", { params, body })),
        [keys.dag(dagId)],
        onClose,
    );
    const changed = preview.data?.task_instances ?? [];
    const error = mark.error ?? preview.error;
    return (
        <Dialog
            title={`Mark ${taskId} as ${state}`}
            onClose={onClose}
            actions={
                <Button
                    look="main"
                    disabled={changed.length === 0 || preview.isPlaceholderData || mark.isPending}
                    onClick={() => mark.mutate()}
                >
                    Mark {counted(changed.length, "task instance")} as {state}
                </Button>
            }
        >
            <Choices
                legend="Also"
                names={AROUND_NAMES}
                chosen={around}
                onChange={(name, on) => setAround((before) => ({ ...before, [name]: on }))}
            />
            {error !== null && <ErrorNote error={error} />}
            {preview.isPending ? (
                <Skeleton height="10rem" />
            ) : (
                <Impact runs={grouped(changed)} none={`All that is meant is ${state} already.`} />
            )}
        </Dialog>
    );
}
