import { useState } from "react";
import { answered, api } from "../../api/client";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { BulkDialog } from "../../forms/bulk/bulk_dialog";
import styles from "../dags/dags.module.css";
import { ClearRunsDialog } from "./clear_runs_dialog";
import { keyOf } from "./columns";
import type { RunRow } from "./filters";

interface RunBulkBarProps {
    /** Those that are chosen. */
    runs: readonly RunRow[];
    onNone: () => void;
}

/** What can be done with all the runs that are chosen. */
export function RunBulkBar({ runs, onNone }: RunBulkBarProps) {
    const [open, setOpen] = useState<"clear" | "delete" | null>(null);
    const me = useMe();
    if (runs.length === 0) return null;
    const allowed = (permission: string) => runs.every((run) => may(me, permission, run.dag_id));
    const what = `${runs.length} ${runs.length === 1 ? "run" : "runs"}`;
    return (
        <section className={styles.bulk} aria-label="What is chosen">
            <strong>{what} chosen</strong>
            {allowed("clear runs") && <Button onClick={() => setOpen("clear")}>Clear</Button>}
            {allowed("edit runs") && (
                <Button look="danger" onClick={() => setOpen("delete")}>
                    Delete
                </Button>
            )}
            <Button look="quiet" onClick={onNone}>
                Choose none
            </Button>
            {open === "clear" && <ClearRunsDialog runs={runs} onClose={() => setOpen(null)} />}
            {open === "delete" && (
                <BulkDialog
                    title={`Delete ${what}?`}
                    things={runs}
                    nameOf={keyOf}
                    effectOf={(run) => run.state}
                    button={`Delete ${what}`}
                    isDanger
                    act={({ dag_id, run_id }) =>
                        answered(
                            api.DELETE("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", {
                                params: { path: { dag_id, dag_run_id: run_id } },
                            }),
                        )
                    }
                    onClose={() => setOpen(null)}
                >
                    <p>Their task instances, XComs and logs are deleted too. A run that is under way is refused.</p>
                </BulkDialog>
            )}
        </section>
    );
}
