import { memo } from "react";
import styles from "./grid.module.css";
import { CELL } from "./measures";
import type { GridRow } from "./rows";

interface RowNamesProps {
    rows: readonly GridRow[];
    /** Of the rows that are drawn the first one, and the one after the last. */
    first: number;
    end: number;
    folded: ReadonlySet<string>;
    onFold: (groupId: string) => void;
    /** null: there are no groups. */
    onFoldAll: ((close: boolean) => void) | null;
}

/** The names of tasks at the left; groups can be closed. */
export const RowNames = memo(function RowNames({ rows, first, end, folded, onFold, onFoldAll }: RowNamesProps) {
    return (
        <div className={styles.names} dir="ltr">
            <div className={styles.corner}>
                <span>Runs, the newest at the right</span>
                {onFoldAll !== null && (
                    <div>
                        <button type="button" onClick={() => onFoldAll(true)}>
                            Close all groups
                        </button>
                        <button type="button" onClick={() => onFoldAll(false)}>
                            Open all groups
                        </button>
                    </div>
                )}
                <span>Tasks</span>
            </div>
            <div style={{ height: rows.length * CELL, paddingTop: first * CELL }}>
                {rows.slice(first, end).map((row) => (
                    <div
                        key={row.id}
                        className={styles.name}
                        title={row.operator === null ? row.id : `${row.id} (${row.operator})`}
                        data-removed={row.is_removed || undefined}
                        style={{ paddingLeft: `${row.depth * 0.9 + 0.5}rem` }}
                    >
                        {row.kind === "group" ? (
                            <button type="button" aria-expanded={!folded.has(row.id)} onClick={() => onFold(row.id)}>
                                {folded.has(row.id) ? "▸" : "▾"} {row.label}
                            </button>
                        ) : (
                            row.label
                        )}
                        <Marks row={row} />
                    </div>
                ))}
            </div>
        </div>
    );
});

function Marks({ row }: { row: GridRow }) {
    const words = [
        row.is_mapped && row.kind === "task" ? "mapped" : "",
        row.is_setup ? "setup" : "",
        row.is_teardown ? "teardown" : "",
        row.is_removed ? "not in the newest version" : "",
    ].filter(Boolean);
    return words.length === 0 ? null : <small>{words.join(", ")}</small>;
}
