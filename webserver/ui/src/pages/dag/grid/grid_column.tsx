import { memo } from "react";
import { BASE } from "../../../api/base";
import { taskPath } from "../../../components/links";
import { colourOf, isQuiet, signOf, wordsOf } from "../../../components/state";
import styles from "./grid.module.css";
import { BLOCK, CELL } from "./measures";
import type { GridColumn, GridRow } from "./rows";

interface GridColumnProps {
    dagId: string;
    column: GridColumn;
    blocks: readonly (readonly GridRow[])[];
    firstBlock: number;
    lastBlock: number;
    right: number;
    isChosen: boolean;
    /** The row of this column on which the keyboard is; null where it is elsewhere. */
    cursor: number | null;
}

/** One run below its head: the state of each task. Its blocks stand by themselves: what is added moves nothing else. */
export const GridColumnView = memo(function GridColumnView(props: GridColumnProps) {
    const { dagId, column, blocks, firstBlock, lastBlock, right, isChosen, cursor } = props;
    return (
        <div
            className={styles.column}
            style={{ right }}
            data-run={column.run.run_id}
            data-chosen={isChosen || undefined}
        >
            {blocks.slice(firstBlock, lastBlock + 1).map((rows, at) => {
                const above = (firstBlock + at) * BLOCK;
                const isIn = cursor !== null && cursor >= above && cursor < above + BLOCK;
                return (
                    <Block
                        key={rows[0]?.id}
                        dagId={dagId}
                        column={column}
                        rows={rows}
                        top={above * CELL}
                        cursor={isIn ? cursor - above : null}
                    />
                );
            })}
        </div>
    );
});

interface BlockProps {
    dagId: string;
    column: GridColumn;
    rows: readonly GridRow[];
    top: number;
    cursor: number | null;
}

/** A few rows of a column, drawn once: as one scrolls, blocks come and go as a whole. */
const Block = memo(function Block({ dagId, column, rows, top, cursor }: BlockProps) {
    return (
        <div className={styles.block} style={{ top, height: rows.length * CELL }}>
            {rows.map((row, at) => (
                <Cell key={row.id} dagId={dagId} column={column} row={row} isCursor={cursor === at} />
            ))}
        </div>
    );
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
    const quiet = isQuiet(state);
    const look = { "data-quiet": quiet || undefined, style: quiet ? undefined : { backgroundColor: colourOf(state) } };
    if (row.kind === "group") {
        return (
            <button
                type="button"
                className={styles.groupCell}
                data-task={row.id}
                data-fold={row.id}
                aria-label={`Group ${label}`}
                tabIndex={tabIndex}
                {...look}
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
            {...look}
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
