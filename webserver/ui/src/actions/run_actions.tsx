import { useState } from "react";
import { may, useMe } from "../api/rights";
import { Button } from "../components/button";
import { ClearRunDialog } from "./clear_run_dialog";
import { DeleteRunDialog } from "./delete_run_dialog";
import { MarkRunDialog } from "./mark_run_dialog";
import { Menu } from "./menu";

interface ActedRun {
    dag_id: string;
    run_id: string;
    state: string;
    counts: Record<string, number>;
}

/** What may be done with a run; what this account may not do is not shown. */
export function RunActions({ run }: { run: ActedRun }) {
    const me = useMe();
    const [shown, setShown] = useState<"clear" | "delete" | "success" | "failed" | null>(null);
    const close = () => setShown(null);
    const name = { dagId: run.dag_id, runId: run.run_id };
    const mayEdit = may(me, "edit runs", run.dag_id);
    const marks = (["success", "failed"] as const).filter((state) => state !== run.state);
    return (
        <>
            {may(me, "clear runs", run.dag_id) && <Button onClick={() => setShown("clear")}>Clear…</Button>}
            {mayEdit && (
                <Menu
                    label="Mark as"
                    items={marks.map((state) => ({ label: `${state}…`, onChoose: () => setShown(state) }))}
                />
            )}
            {mayEdit && (
                <Button look="danger" onClick={() => setShown("delete")}>
                    Delete…
                </Button>
            )}
            {shown === "clear" && <ClearRunDialog {...name} onClose={close} />}
            {shown === "delete" && <DeleteRunDialog {...name} state={run.state} counts={run.counts} onClose={close} />}
            {(shown === "success" || shown === "failed") && <MarkRunDialog {...name} state={shown} onClose={close} />}
        </>
    );
}
