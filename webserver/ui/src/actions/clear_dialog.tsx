import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../api/client";
import { keys } from "../api/keys";
import { Button } from "../components/button";
import { Dialog } from "../components/dialog";
import { ErrorNote, Skeleton } from "../components/notes";
import { type ClearChoices, clearBody, counted, grouped, NOTHING_AROUND, type Target } from "./bodies";
import { AROUND_NAMES, Choices, HOW_NAMES } from "./choices";
import { Impact } from "./impact";
import { useAction } from "./use_action";

interface ClearDialogProps {
    title: string;
    target: Target;
    first?: Partial<ClearChoices>;
    onClose: () => void;
}

/** Lets tasks run again, having shown which. */
export function ClearDialog({ title, target, first = {}, onClose }: ClearDialogProps) {
    const [choices, setChoices] = useState<ClearChoices>({
        ...NOTHING_AROUND,
        downstream: true,
        onlyFailed: false,
        latestVersion: false,
        ...first,
    });
    const choose = (name: keyof ClearChoices, on: boolean) => setChoices((before) => ({ ...before, [name]: on }));
    const { dagId, runId } = target;
    const send = (dryRun: boolean) =>
        answered(
            api.POST("/api/v2/dags/{dag_id}/clearTaskInstances", {
                params: { path: { dag_id: dagId } },
                body: clearBody(target, choices, dryRun),
            }),
        );
    const preview = useQuery({
        // Below the run, so that it is asked again when the run goes on while one reads.
        queryKey: keys.run(dagId, runId, "clear", target.taskIds, target.mapIndex, choices),
        queryFn: () => send(true),
        placeholderData: keepPreviousData,
        gcTime: 0,
    });
    const clear = useAction(() => send(false), [keys.dag(dagId)], onClose);
    const changes = preview.data?.changes ?? [];
    const error = clear.error ?? preview.error;
    return (
        <Dialog
            title={title}
            onClose={onClose}
            actions={
                <Button
                    look="main"
                    disabled={changes.length === 0 || preview.isPlaceholderData || clear.isPending}
                    onClick={() => clear.mutate()}
                >
                    Clear {counted(changes.length, "task instance")}
                </Button>
            }
        >
            <Choices legend="Also" names={AROUND_NAMES} chosen={choices} onChange={choose} />
            <Choices legend="How" names={HOW_NAMES} chosen={choices} onChange={choose} />
            {error !== null && <ErrorNote error={error} />}
            {preview.isPending ? (
                <Skeleton height="10rem" />
            ) : (
                <Impact runs={grouped(changes)} none="Nothing is to be cleared with these choices." />
            )}
        </Dialog>
    );
}
