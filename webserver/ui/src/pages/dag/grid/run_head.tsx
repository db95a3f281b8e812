import { memo } from "react";
import { useZone } from "../../../components/clock";
import { colourOf, wordsOf } from "../../../components/state";
import { dateIn, lengthOf, timeIn } from "../../../components/times";
import styles from "./grid.module.css";
import type { Mark } from "./marks";
import type { GridColumn } from "./rows";

interface RunHeadProps {
    run: GridColumn["run"];
    right: number;
    longest: number;
    mark: Mark | undefined;
    isChosen: boolean;
    isCursor: boolean;
}

/** What stands above a run's column: a bar as high as the run took long, and now and then a date. */
export const RunHead = memo(function RunHead({ run, right, longest, mark, isChosen, isCursor }: RunHeadProps) {
    const zone = useZone();
    const at = run.run_after === null ? "" : `${dateIn(zone, run.run_after)} ${timeIn(zone, run.run_after)}`;
    const words = `Run ${run.run_id}: ${wordsOf(run.state)}, ${at} ${zone}, ${lengthOf(run.duration)}`;
    const height = `${Math.max(8, (100 * (run.duration ?? 0)) / longest)}%`;
    return (
        <div className={styles.head} style={{ right }} data-run={run.run_id} data-chosen={isChosen || undefined}>
            {mark !== undefined && <span data-strong={mark.isStrong || undefined}>{mark.label}</span>}
            <button type="button" aria-label={words} aria-pressed={isChosen} tabIndex={isCursor ? 0 : -1} data-head="">
                <i data-state={run.state} style={{ height, background: colourOf(run.state) }} />
            </button>
        </div>
    );
});
