import { memo } from "react";
import { BASE } from "../../../api/base";
import { useZone } from "../../../components/clock";
import { taskPath } from "../../../components/links";
import { colourOf, signOf, wordsOf } from "../../../components/state";
import { dateIn, lengthOf, timeIn } from "../../../components/times";
import styles from "./grid.module.css";
import type { Mark } from "./marks";
import { BLOCK, CELL } from "./measures";
import type { GridColumn, GridRow } from "./rows";

interface GridColumnProps {
    dagId: string;
    column: GridColumn;
    blocks: readonly (readonly GridRow[])[];
    firstBlock: number;
    lastBlock: number;
    right: number;
    longest: number;
    mark: Mark | undefined;
    isChosen: boolean;
    /** The row of this column on which the keyboard is: -1 its head, null none. */
    cursor: number | null;
}

/** One run: a bar as high as it took long, and below it the state of each task. */
export const GridColumnView = memo(function GridColumnView(props: GridColumnProps) {
    const { dagId, column, blocks, firstBlock, lastBlock, right, mark, isChosen, cursor } = props;
    const drawn = blocks.slice(firstBlock, lastBlock + 1);
    return (
        <div
            className={styles.column}
            style={{ right }}
            data-run={column.run.run_id}
            data-chosen={isChosen || undefined}
        >
            <div className={styles.head}>
                {mark !== undefined && <span data-strong={mark.isStrong || undefined}>{mark.label}</span>}
                <RunHead run={column.run} longest={props.longest} isChosen={isChosen} isCursor={cursor === -1} />
            </div>
            <div style={{ paddingTop: firstBlock * BLOCK * CELL }}>
                {drawn.map((rows, at) => {
                    const above = (firstBlock + at) * BLOCK;
                    const isIn = cursor !== null && cursor >= above && cursor < above + BLOCK;
                    return (
                        <Block
                            key={rows[0]?.id}
                            dagId={dagId}
                            column={column}
                            rows={rows}
                            cursor={isIn ? cursor - above : null}
                        />
                    );
                })}
            </div>
        </div>
    );
});

interface RunHeadProps {
    run: GridColumn["run"];
    longest: number;
    isChosen: boolean;
    isCursor: boolean;
}

function RunHead({ run, longest, isChosen, isCursor }: RunHeadProps) {
    const zone = useZone();
    const at = run.run_after === null ? "" : `${dateIn(zone, run.run_after)} ${timeIn(zone, run.run_after)}`;
    const words = `Run ${run.run_id}: ${wordsOf(run.state)}, ${at} ${zone}, ${lengthOf(run.duration)}`;
    const height = `${Math.max(8, (100 * (run.duration ?? 0)) / longest)}%`;
    return (
        <button type="button" aria-label={words} aria-pressed={isChosen} tabIndex={isCursor ? 0 : -1} data-head="">
            <i data-state={run.state} style={{ height, background: colourOf(run.state) }} />
        </button>
    );
}

interface BlockProps {
    dagId: string;
    column: GridColumn;
    rows: readonly GridRow[];
    cursor: number | null;
}

/** A few rows of a column, drawn once: as one scrolls, blocks come and go as a whole. */
const Block = memo(function Block({ dagId, column, rows, cursor }: BlockProps) {
    return rows.map((row, at) => (
        <Cell key={row.id} dagId={dagId} column={column} row={row} isCursor={cursor === at} />
    ));
});

interface CellProps {
    dagId: string;
    column: GridColumn;
    row: GridRow;
    isCursor: boolean;
}

function Cell({ dagId, column: { run, states }, row, isCursor }: CellProps) {
    const state = states.get(row.id);
    const tabIndex = isCursor ? 0 : -1;
    if (state === undefined) return <div className={styles.noCell} data-task={row.id} tabIndex={tabIndex} />;
    const tries = run.tries[row.id] ?? 1;
    const label = `${row.id}: ${wordsOf(state)}${tries > 1 ? `, ${tries} tries` : ""}`;
    const backgroundColor = colourOf(state);
    if (row.kind === "group") {
        return (
            <button
                type="button"
                className={styles.groupCell}
                data-task={row.id}
                data-fold={row.id}
                aria-label={`Group ${label}`}
                tabIndex={tabIndex}
                style={{ backgroundColor }}
            />
        );
    }
    return (
        <a
            className={styles.cell}
            href={BASE + taskPath(dagId, run.run_id, row.id)}
            data-task={row.id}
            aria-label={label}
            tabIndex={tabIndex}
            style={{ backgroundColor }}
        >
            {textOf(state, tries)}
        </a>
    );
}

/** Success needs no sign unless it took several tries, whose number then stands in the cell. */
function textOf(state: string, tries: number): string {
    if (state !== "success") return signOf(state);
    return tries > 1 ? String(tries) : "";
}
