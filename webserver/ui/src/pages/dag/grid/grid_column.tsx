import { memo } from "react";
import { BASE } from "../../../api/base";
import { useZone } from "../../../components/clock";
import { runPath, taskPath } from "../../../components/links";
import { colourOf, signOf, wordsOf } from "../../../components/state";
import { dateIn, lengthOf, timeIn } from "../../../components/times";
import styles from "./grid.module.css";
import type { GridColumn, GridRow } from "./rows";

interface GridColumnProps {
    dagId: string;
    column: GridColumn;
    rows: readonly GridRow[];
    top: number;
    right: number;
    longest: number;
}

/** One run: a bar as high as it took long, and below it the state of each task. */
export const GridColumnView = memo(function GridColumnView({
    dagId,
    column,
    rows,
    top,
    right,
    longest,
}: GridColumnProps) {
    const { run, states } = column;
    return (
        <div className={styles.column} style={{ right }}>
            <RunHead dagId={dagId} run={run} longest={longest} />
            <div style={{ paddingTop: top }}>
                {rows.map((row) => {
                    const state = states.get(row.id);
                    return state === undefined ? (
                        <div key={row.id} className={styles.noCell} />
                    ) : (
                        <Cell key={row.id} dagId={dagId} column={column} row={row} state={state} />
                    );
                })}
            </div>
        </div>
    );
});

function RunHead({ dagId, run, longest }: { dagId: string; run: GridColumn["run"]; longest: number }) {
    const zone = useZone();
    const at = run.run_after === null ? "" : `${dateIn(zone, run.run_after)} ${timeIn(zone, run.run_after)}`;
    const words = `${run.run_id}: ${wordsOf(run.state)}, ${at} ${zone}, ${lengthOf(run.duration)}`;
    return (
        <a className={styles.runHead} href={BASE + runPath(dagId, run.run_id)} title={words} aria-label={words}>
            <i
                data-state={run.state}
                style={{
                    height: `${Math.max(8, (100 * (run.duration ?? 0)) / longest)}%`,
                    background: colourOf(run.state),
                }}
            />
        </a>
    );
}

interface CellProps {
    dagId: string;
    column: GridColumn;
    row: GridRow;
    state: string;
}

function Cell({ dagId, column: { run }, row, state }: CellProps) {
    const counts = run.counts[row.id];
    const tries = run.tries[row.id];
    const words = [
        `${row.label}: ${wordsOf(state)}`,
        counts === undefined
            ? ""
            : Object.entries(counts)
                  .map(([one, count]) => `${count} ${wordsOf(one)}`)
                  .join(", "),
        tries === undefined || tries < 2 ? "" : `${tries} tries`,
    ];
    const title = words.filter(Boolean).join(" · ");
    const sign = <b style={{ background: colourOf(state) }}>{state === "success" ? "" : signOf(state)}</b>;
    if (row.kind === "group") {
        return (
            <div className={styles.cell} title={title} data-group="">
                {sign}
            </div>
        );
    }
    return (
        <a className={styles.cell} href={BASE + taskPath(dagId, run.run_id, row.id)} title={title} aria-label={title}>
            {sign}
        </a>
    );
}
