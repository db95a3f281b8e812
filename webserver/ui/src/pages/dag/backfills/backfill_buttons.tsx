import { useState } from "react";
import { useAction } from "../../../actions/use_action";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { may, useMe } from "../../../api/rights";
import { Button } from "../../../components/button";
import { FormDialog } from "../../../components/form_dialog";
import { ErrorNote } from "../../../components/notes";
import type { Backfill } from "./backfill_panel";
import styles from "./backfills.module.css";

interface BackfillButtonsProps {
    dagId: string;
    backfill: Backfill;
    /** How many of its runs have not ended; null while that is not known. */
    left: number | null;
}

/** Pause, resume and cancel; not there for a backfill that has ended, nor for those who may not make runs. */
export function BackfillButtons({ dagId, backfill, left }: BackfillButtonsProps) {
    const me = useMe();
    const [isAsking, setAsking] = useState(false);
    const params = { params: { path: { backfill_id: backfill.id } } };
    const stale = [keys.dag(dagId)];
    const pausing = useAction(
        () =>
            backfill.is_paused
                ? answered(api.PUT("/api/v2/backfills/{backfill_id}/unpause", params))
                : answered(api.PUT("/api/v2/backfills/{backfill_id}/pause", params)),
        stale,
        () => undefined,
    );
    if (backfill.completed_at !== null || !may(me, "trigger runs", dagId)) return null;
    return (
        <span className={styles.buttons}>
            {pausing.error !== null && <ErrorNote error={pausing.error} />}
            <Button onClick={() => pausing.mutate()} disabled={pausing.isPending}>
                {backfill.is_paused ? "Resume" : "Pause"}
            </Button>
            <Button look="danger" onClick={() => setAsking(true)}>
                Cancel…
            </Button>
            {isAsking && (
                <FormDialog
                    title={`Cancel backfill ${backfill.id}`}
                    button={`Cancel backfill ${backfill.id}`}
                    isDanger
                    act={() => answered(api.PUT("/api/v2/backfills/{backfill_id}/cancel", params))}
                    onClose={() => setAsking(false)}
                >
                    <p>
                        {leftWords(left)} Runs that are queued fail, those under way go on to their end, and no further
                        run is made. A backfill that was cancelled cannot be resumed.
                    </p>
                </FormDialog>
            )}
        </span>
    );
}

function leftWords(left: number | null): string {
    if (left === null) return "";
    return left === 1 ? "One of its runs has not ended." : `${left} of its runs have not ended.`;
}
