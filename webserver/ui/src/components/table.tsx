import type { ReactNode } from "react";
import styles from "./table.module.css";

export interface Column<Row> {
    head: string;
    cell: (row: Row) => ReactNode;
    /** Numbers stand at the right of their column. */
    isNumber?: boolean;
}

interface TableProps<Row> {
    label: string;
    columns: Column<Row>[];
    rows: readonly Row[];
    keyOf: (row: Row) => string;
}

/** A table of one page of rows; it scrolls sideways within its frame where the window is narrow. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
    return (
        <div className={styles.frame}>
            <table className={styles.table} aria-label={label}>
                <thead>
                    <tr>
                        {columns.map((column) => (
                            <th key={column.head} scope="col" className={column.isNumber ? styles.number : undefined}>
                                {column.head}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {rows.map((row) => (
                        <tr key={keyOf(row)}>
                            {columns.map((column) => (
                                <td key={column.head} className={column.isNumber ? styles.number : undefined}>
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
