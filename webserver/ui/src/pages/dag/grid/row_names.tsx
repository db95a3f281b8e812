import styles from "./grid.module.css";
import type { GridRow } from "./rows";

interface RowNamesProps {
    rows: readonly GridRow[];
    top: number;
    height: number;
    folded: ReadonlySet<string>;
    onFold: (groupId: string) => void;
}

/** The names of tasks at the left; groups can be closed. */
export function RowNames({ rows, top, height, folded, onFold }: RowNamesProps) {
    return (
        <div className={styles.names} dir="ltr">
            <div className={styles.corner}>
                <span>Tasks</span>
                <span>Runs, the newest at the right</span>
            </div>
            <div style={{ height, paddingTop: top }}>
                {rows.map((row) => (
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
}

function Marks({ row }: { row: GridRow }) {
    const words = [
        row.is_mapped && row.kind === "task" ? "mapped" : "",
        row.is_setup ? "setup" : "",
        row.is_teardown ? "teardown" : "",
        row.is_removed ? "not in the newest version" : "",
    ].filter(Boolean);
    return words.length === 0 ? null : <small>{words.join(", ")}</small>;
}
