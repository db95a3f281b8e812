import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Got } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Button } from "../../../components/button";
import { Moment } from "../../../components/clock";
import { hasFailed } from "../../../components/failures";
import { ErrorNote } from "../../../components/notes";
import { colourOf, StateCounts, wordsOf } from "../../../components/state";
import { lengthOf } from "../../../components/times";
import { BackfillButtons } from "./backfill_buttons";
import styles from "./backfills.module.css";
import { DateList } from "./date_list";
import { shareOf } from "./progress";

export type Backfill = Got<"/api/v2/backfills">["backfills"][number];

/** One backfill: what it covers, how far it is, and what can be done about it. */
export function BackfillPanel({ dagId, backfill }: { dagId: string; backfill: Backfill }) {
    const [isOpen, setOpen] = useState(false);
    const progress = useQuery({
        queryKey: keys.dagOverview(dagId, "backfills", backfill.id, "progress"),
        queryFn: () =>
            answered(
                api.GET("/api/v2/backfills/{backfill_id}/progress", { params: { path: { backfill_id: backfill.id } } }),
            ),
    });
    const known = progress.data;
    return (
        <section className={styles.panel} aria-label={`Backfill ${backfill.id}`}>
            <div className={styles.head}>
                <h2>Backfill {backfill.id}</h2>
                <span>{wordsOf(known?.state ?? (backfill.is_paused ? "paused" : "running"))}</span>
                <span>
                    <Moment at={backfill.from_date} /> to <Moment at={backfill.to_date} />
                </span>
                <BackfillButtons
                    dagId={dagId}
                    backfill={backfill}
                    left={known === undefined ? null : known.total - known.done}
                />
            </div>
            {hasFailed(progress) && <ErrorNote error={progress.error} />}
            <Bar runs={known?.runs ?? {}} total={known?.total ?? 1} />
            <div className={styles.facts}>
                <span>
                    {known?.done ?? "–"} of {known?.total ?? "–"} runs have ended
                </span>
                <StateCounts counts={known?.runs ?? {}} />
                {typeof known?.remaining_seconds === "number" && (
                    <span>about {lengthOf(known.remaining_seconds)} left</span>
                )}
                <span>{backfill.max_active_runs} at once</span>
                {backfill.run_backwards && <span>the newest date first</span>}
                <span>
                    asked for <Moment at={backfill.created_at} />
                </span>
                <Button look="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                    {isOpen ? "Hide its runs" : "Show its runs"}
                </Button>
            </div>
            {isOpen && known !== undefined && <DateList dagId={dagId} dates={known.dates} />}
        </section>
    );
}

function Bar({ runs, total }: { runs: Record<string, number>; total: number }) {
    return (
        <div className={styles.bar} aria-hidden="true">
            {shareOf(runs, total)
                // What still waits is the part that is left empty.
                .filter(({ state }) => state !== "queued")
                .map(({ state, percent }) => (
                    <i key={state} style={{ width: `${percent}%`, background: colourOf(state) }} />
                ))}
        </div>
    );
}
