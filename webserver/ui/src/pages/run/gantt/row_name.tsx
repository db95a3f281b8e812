import styles from "./gantt.module.css";
import type { GanttRow } from "./model";

/** The name of a row; groups and mapped tasks can be opened. */
export function RowName({ row, onFold }: { row: GanttRow; onFold: (id: string) => void }) {
    const words = row.kind === "instance" ? `${row.taskId} ${row.label}` : row.id;
    return (
        <div
            className={styles.name}
            title={row.isRemoved ? `${words}, not in this version` : words}
            data-critical={row.isCritical || undefined}
            data-group={row.kind === "group" || undefined}
            style={{ paddingLeft: `${row.depth * 0.9 + 0.6}rem` }}
        >
            {row.canOpen ? (
                <button type="button" aria-expanded={row.isOpen} onClick={() => onFold(row.id)}>
                    {row.isOpen ? "▾" : "▸"} {row.label}
                </button>
            ) : (
                <span>{row.label}</span>
            )}
            {row.kind === "task" && row.canOpen && <small>{instancesIn(row)} instances</small>}
            {row.isCritical && <b title="on the critical path">◆</b>}
        </div>
    );
}

function instancesIn(row: GanttRow): number {
    return new Set(row.attempts.map((one) => one.map_index)).size;
}
