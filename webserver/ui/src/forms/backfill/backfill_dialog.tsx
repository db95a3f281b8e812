import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { queries } from "../../api/queries";
import { Button } from "../../components/button";
import { Dialog } from "../../components/dialog";
import { Check, Field, Select } from "../../components/field";
import { dagPath } from "../../components/links";
import { Refusable } from "../../components/refusable";
import styles from "../forms.module.css";
import { BackfillPlan } from "./backfill_plan";
import { bodyOf, countOf, EMPTY, isWhole, REPROCESS, type Wish } from "./wish";

/** Asks for a range of logical dates, shows each run that would be made or passed over, and makes them. */
export function BackfillDialog({ dagId, onClose }: { dagId: string; onClose: () => void }) {
    const [wish, setWish] = useState<Wish>(EMPTY);
    const navigate = useNavigate();
    const preview = useQuery({
        queryKey: [...keys.dagOverview(dagId), "backfill preview", wish],
        queryFn: () => answered(api.POST("/api/v2/backfills/dry_run", { body: bodyOf(dagId, wish) })),
        enabled: isWhole(wish),
        retry: false,
        placeholderData: (before) => before,
    });
    const making = useMutation({
        mutationFn: () => answered(api.POST("/api/v2/backfills", { body: bodyOf(dagId, wish) })),
        onSuccess: async () => {
            await queries.invalidateQueries({ queryKey: keys.dag(dagId) });
            onClose();
            navigate(`${dagPath(dagId)}/backfills`);
        },
    });
    const count = isWhole(wish) ? countOf(preview.data?.backfills ?? []) : 0;
    const error = making.error ?? (isWhole(wish) ? preview.error : null);
    return (
        <Dialog
            title={`Backfill ${dagId}`}
            onClose={onClose}
            actions={
                <Button
                    look="main"
                    onClick={() => making.mutate()}
                    disabled={count === 0 || making.isPending || preview.isFetching}
                >
                    {`Make ${count} ${count === 1 ? "run" : "runs"}`}
                </Button>
            }
        >
            <Refusable error={error} isQuiet={making.error === null} className={styles.form}>
                <WishFields wish={wish} onWish={setWish} />
                {isWhole(wish) ? (
                    <BackfillPlan planned={preview.data?.backfills ?? []} />
                ) : (
                    <p className={styles.will}>Every logical date of the schedule from the first to the last day.</p>
                )}
            </Refusable>
        </Dialog>
    );
}

function WishFields({ wish, onWish }: { wish: Wish; onWish: (wish: Wish) => void }) {
    const set = (part: Partial<Wish>) => onWish({ ...wish, ...part });
    return (
        <>
            <div className={styles.pair}>
                <Field
                    label="From"
                    name="from_date"
                    type="date"
                    hint="In UTC"
                    value={wish.from}
                    onChange={(event) => set({ from: event.target.value })}
                />
                <Field
                    label="To"
                    name="to_date"
                    type="date"
                    hint="This day with it"
                    value={wish.to}
                    onChange={(event) => set({ to: event.target.value })}
                />
                <Select
                    label="Dates that have a run already"
                    name="reprocess_behavior"
                    value={wish.reprocess}
                    onChange={(event) => set({ reprocess: event.target.value as Wish["reprocess"] })}
                >
                    {Object.entries(REPROCESS).map(([value, words]) => (
                        <option key={value} value={value}>
                            {words}
                        </option>
                    ))}
                </Select>
                <Field
                    label="Runs at once"
                    name="max_active_runs"
                    type="number"
                    min={1}
                    value={wish.atOnce}
                    onChange={(event) => set({ atOnce: event.target.value })}
                />
            </div>
            <Check
                label="The newest date first"
                name="run_backwards"
                checked={wish.backwards}
                onChange={(event) => set({ backwards: event.target.checked })}
            />
        </>
    );
}
