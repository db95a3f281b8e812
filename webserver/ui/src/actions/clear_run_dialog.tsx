import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../api/client";
import { keys } from "../api/keys";
import { Button } from "../components/button";
import { Dialog } from "../components/dialog";
import { ErrorNote, Skeleton } from "../components/notes";
import { clearRunBody, counted, grouped } from "./bodies";
import { Choices, HOW_NAMES } from "./choices";
import { Impact } from "./impact";
import { useAction } from "./use_action";

/** Lets a run go again, having shown which of its task instances. */
export function ClearRunDialog({ dagId, runId, onClose }: { dagId: string; runId: string; onClose: () => void }) {
    const [choices, setChoices] = useState({ onlyFailed: false, latestVersion: false });
    const params = { path: { dag_id: dagId, dag_run_id: runId } };
    const send = (dryRun: boolean) =>
        answered(
            api.POST("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/clear", {
                params,
                body: clearRunBody(choices, dryRun),
            }),
        );
    const preview = useQuery({
        queryKey: keys.run(dagId, runId, "clear-run", choices),
        queryFn: () => send(true),
        placeholderData: keepPreviousData,
        gcTime: 0,
    });
    const clear = useAction(() => send(false), [keys.dag(dagId)], onClose);
    const changes = preview.data !== undefined && "changes" in preview.data ? preview.data.changes : [];
    const error = clear.error ?? preview.error;
    return (
        <Dialog
            title="Clear the run"
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
            <Choices
                legend="How"
                names={HOW_NAMES}
                chosen={choices}
                onChange={(name, on) => setChoices((before) => ({ ...before, [name]: on }))}
            />
            {error !== null && <ErrorNote error={error} />}
            {preview.isPending ? (
                <Skeleton height="10rem" />
            ) : (
                <Impact runs={grouped(changes)} none="Nothing is to be cleared with these choices." />
            )}
        </Dialog>
    );
}
