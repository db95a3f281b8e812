import type { ReactNode } from "react";
import { onRowKeys } from "../keyboard/row_keys";
import styles from "./table.module.css";

export interface Column<Row> {
    head: string;
    cell: (row: Row) => ReactNode;
    /** Numbers stand at the right of their column. */
    isNumber?: boolean;
    /** Left out where the window is narrow: what the page of the row tells too. */
    isWide?: boolean;
    /** Whether the head is for those who do not see the column, as of a column of buttons. */
    isHeadHidden?: boolean;
    /** Where given, the column stands only if a row has something in it. */
    has?: (row: Row) => unknown;
}

/** Which rows are chosen, by their keys; a table with it has a box to tick beside each row. */
export interface Choosing {
    chosen: ReadonlySet<string>;
    onChosen: (chosen: ReadonlySet<string>) => void;
}

interface TableProps<Row> {
    label: string;
    columns: Column<Row>[];
    rows: readonly Row[];
    keyOf: (row: Row) => string;
    choosing?: Choosing | undefined;
}

/** A table of one page of rows; it scrolls sideways within its frame where the window is narrow. */
export function Table<Row>({ label, columns: all, rows, keyOf, choosing }: TableProps<Row>) {
    const columns = all.filter(({ has }) => has === undefined || rows.some(has));
    return (
        <div className={styles.frame}>
            <table className={styles.table} aria-label={label} onKeyDown={onRowKeys}>
                <thead>
                    <tr>
                        {choosing !== undefined && (
                            <th scope="col" className={styles.box}>
                                <ChooseAll keys={rows.map(keyOf)} choosing={choosing} />
                            </th>
                        )}
                        {columns.map((column) => (
                            <th key={column.head} scope="col" className={classOf(column)}>
                                <span className={column.isHeadHidden ? styles.hidden : undefined}>{column.head}</span>
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {rows.map((row) => (
                        <tr key={keyOf(row)} aria-selected={choosing?.chosen.has(keyOf(row))}>
                            {choosing !== undefined && (
                                <td className={styles.box}>
                                    <Choose name={keyOf(row)} choosing={choosing} />
                                </td>
                            )}
                            {columns.map((column) => (
                                <td key={column.head} className={classOf(column)}>
                                    {column.cell(row)}
                                </td>
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

type Looks = Pick<Column<never>, "isNumber" | "isWide" | "isHeadHidden">;

function classOf({ isNumber, isWide, isHeadHidden }: Looks): string | undefined {
    const looks = [isNumber && styles.number, isWide && styles.wide, isHeadHidden && styles.narrow];
    return looks.filter(Boolean).join(" ") || undefined;
}

function Choose({ name, choosing }: { name: string; choosing: Choosing }) {
    const { chosen, onChosen } = choosing;
    const isChosen = chosen.has(name);
    const toggle = () =>
        onChosen(isChosen ? new Set([...chosen].filter((one) => one !== name)) : new Set([...chosen, name]));
    return <input type="checkbox" aria-label={`Choose ${name}`} checked={isChosen} onChange={toggle} />;
}

function ChooseAll({ keys, choosing }: { keys: readonly string[]; choosing: Choosing }) {
    const { chosen, onChosen } = choosing;
    const isAll = keys.length > 0 && keys.every((key) => chosen.has(key));
    const toggle = () => onChosen(isAll ? new Set() : new Set([...chosen, ...keys]));
    return <input type="checkbox" aria-label="Choose all that are shown" checked={isAll} onChange={toggle} />;
}
