import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { Link } from "react-router";
import { Moment, Took } from "../../../components/clock";
import { taskPath } from "../../../components/links";
import { colourOf, State, StateCounts } from "../../../components/state";
import styles from "../run.module.css";
import type { Cell, Run, TaskRow } from "../shape";
import { longestOf } from "./rows";

const ROW = 37;
// What scrolls has to be reached by the keyboard.
const REACHABLE = { tabIndex: 0, role: "region", "aria-label": "Tasks of the run" };

interface TaskTableProps {
    run: Run;
    rows: readonly TaskRow[];
    cells: Readonly<Record<string, Cell>>;
    folded: ReadonlySet<string>;
    onFold: (id: string) => void;
    /** null: nobody may. */
    onClear: ((group: TaskRow) => void) | null;
}

/** Tasks and groups, of which only those are drawn that are seen. */
export function TaskTable({ run, rows, cells, folded, onFold, onClear }: TaskTableProps) {
    const frame = useRef<HTMLDivElement>(null);
    const list = useVirtualizer({
        count: rows.length,
        getScrollElement: () => frame.current,
        estimateSize: () => ROW,
        overscan: 15,
    });
    const longest = longestOf(rows, cells);
    const items = list.getVirtualItems();
    return (
        <div ref={frame} className={styles.frame} {...REACHABLE}>
            <table className={styles.table} aria-label="Tasks" aria-rowcount={rows.length + 1}>
                <thead>
                    <tr>
                        {["Task", "State", "Tries", "Started", "Took", "Operator"].map((head) => (
                            <th key={head} scope="col">
                                {head}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    <Gap height={items[0]?.start ?? 0} />
                    {items.map((item) => {
                        const row = rows[item.index];
                        return (
                            row !== undefined && (
                                <Row
                                    key={row.id}
                                    run={run}
                                    row={row}
                                    cell={cells[row.id]}
                                    longest={longest}
                                    isFolded={folded.has(row.id)}
                                    onFold={onFold}
                                    onClear={onClear}
                                />
                            )
                        );
                    })}
                    <Gap height={list.getTotalSize() - (items.at(-1)?.end ?? 0)} />
                </tbody>
            </table>
        </div>
    );
}

function Gap({ height }: { height: number }) {
    if (height <= 0) return null;
    return (
        <tr>
            <td colSpan={6} className={styles.gap} style={{ height }} />
        </tr>
    );
}

interface RowProps {
    run: Run;
    row: TaskRow;
    cell: Cell | undefined;
    longest: number;
    isFolded: boolean;
    onFold: (id: string) => void;
    onClear: ((group: TaskRow) => void) | null;
}

function Row({ run, row, cell, longest, isFolded, onFold, onClear }: RowProps) {
    const isMany = cell?.is_mapped === true || row.kind === "group";
    return (
        <tr>
            <th scope="row" title={row.id} style={{ paddingLeft: `${0.75 + row.depth * 1.25}rem` }}>
                {row.kind === "group" ? (
                    <button type="button" aria-expanded={!isFolded} onClick={() => onFold(row.id)}>
                        <span aria-hidden="true">{isFolded ? "▸" : "▾"}</span> {row.label}
                    </button>
                ) : (
                    <Link to={taskPath(run.dag_id, run.run_id, row.id)}>{row.label}</Link>
                )}
                {row.kind === "group" && onClear !== null && (
                    <button type="button" className={styles.clear} onClick={() => onClear(row)}>
                        Clear…<span className={styles.hidden}> the group {row.label}</span>
                    </button>
                )}
            </th>
            <td>
                <span className={styles.states}>
                    <State state={cell?.state ?? "none"} />
                    {isMany && cell !== undefined && <StateCounts counts={cell.counts} />}
                </span>
            </td>
            <td className={styles.number}>{cell === undefined || isMany ? "" : cell.tries}</td>
            <td>{cell === undefined ? "" : <Moment at={cell.started_at} />}</td>
            <td>
                {cell !== undefined && cell.started_at !== null && (
                    <span className={styles.took}>
                        <span>
                            <Took from={cell.started_at} to={cell.ended_at} />
                        </span>
                        {row.kind === "task" && cell.duration !== null && (
                            <i
                                style={{
                                    width: `${(100 * cell.duration) / longest}%`,
                                    background: colourOf(cell.state),
                                }}
                            />
                        )}
                    </span>
                )}
            </td>
            <td className={styles.soft}>{row.operator ?? ""}</td>
        </tr>
    );
}
