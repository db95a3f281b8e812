import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { hasFailed } from "../../components/failures";
import { Check } from "../../components/field";
import { ErrorNote, Skeleton } from "../../components/notes";
import { BulkDialog } from "../../forms/bulk/bulk_dialog";
import { keyOf } from "./columns";
import type { RunRow } from "./filters";

interface Wish {
    only_failed: boolean;
    run_on_latest_version: boolean;
}

const clear = ({ dag_id, run_id }: RunRow, body: Wish & { dry_run: boolean }) =>
    answered(
        api.POST("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/clear", {
            params: { path: { dag_id, dag_run_id: run_id } },
            body,
        }),
    );

/** Shows how many task instances of which run would run again, and clears just these. */
export function ClearRunsDialog({ runs, onClose }: { runs: readonly RunRow[]; onClose: () => void }) {
    const [wish, setWish] = useState<Wish>({ only_failed: false, run_on_latest_version: false });
    const preview = useQuery({
        queryKey: [...keys.runs, "clearing", runs.map(keyOf), wish],
        queryFn: async () => {
            const found = await Promise.all(runs.map((run) => clear(run, { ...wish, dry_run: true })));
            return new Map(runs.map((run, at) => [keyOf(run), countOf(found[at])]));
        },
    });
    const total = [...(preview.data?.values() ?? [])].reduce((sum, one) => sum + one, 0);
    const title = `Clear ${runs.length} ${runs.length === 1 ? "run" : "runs"}?`;
    return (
        <BulkDialog
            title={title}
            things={runs}
            nameOf={keyOf}
            effectOf={(run) => effectOf(preview.data?.get(keyOf(run)))}
            button={`Clear ${total} task ${total === 1 ? "instance" : "instances"}`}
            isReady={total > 0}
            act={(run) => clear(run, { ...wish, dry_run: false })}
            onClose={onClose}
        >
            <p>What is cleared runs again. Earlier attempts and their logs stay.</p>
            <Check
                label="Only what failed"
                checked={wish.only_failed}
                onChange={(event) => setWish({ ...wish, only_failed: event.target.checked })}
            />
            <Check
                label="With the newest version of the DAG"
                checked={wish.run_on_latest_version}
                onChange={(event) => setWish({ ...wish, run_on_latest_version: event.target.checked })}
            />
            {hasFailed(preview) && <ErrorNote error={preview.error} />}
            {preview.isPending && <Skeleton height="2rem" />}
        </BulkDialog>
    );
}

function effectOf(count: number | undefined): string {
    return count === undefined ? "" : `${count} task ${count === 1 ? "instance" : "instances"}`;
}

function countOf(answer: unknown): number {
    const isCounted = typeof answer === "object" && answer !== null && "total_entries" in answer;
    return isCounted ? Number(answer.total_entries) : 0;
}
