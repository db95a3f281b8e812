import { Link } from "react-router";
import { FromNow } from "../../components/clock";
import { dagPath } from "../../components/links";
import { EmptyNote } from "../../components/notes";
import { type Column, Table } from "../../components/table";
import styles from "./assets.module.css";
import { type AssetGraph, nameOf, type Waiting, waitingOf } from "./model";

const COLUMNS: Column<Waiting>[] = [
    { head: "DAG", cell: (dag) => <Link to={dagPath(dag.dagId)}>{dag.dagId}</Link> },
    {
        head: "Still wanted",
        cell: (dag) => (dag.missing === 0 ? "by its rule" : `${dag.missing} of ${dag.parts.length}`),
    },
    { head: "Assets", cell: (dag) => <Parts dag={dag} /> },
];

/** Who waits for what: of each DAG that assets start, what has gathered since its last run. */
export function WaitingTable({ graph }: { graph: AssetGraph }) {
    const rows = waitingOf(graph);
    if (rows.length === 0) {
        return (
            <EmptyNote title="No DAG waits for assets">
                <p>A DAG whose schedule names assets is listed here with what has gathered for its next run.</p>
            </EmptyNote>
        );
    }
    return <Table label="DAGs that wait for assets" columns={COLUMNS} rows={rows} keyOf={(dag) => dag.dagId} />;
}

function Parts({ dag }: { dag: Waiting }) {
    return (
        <ul className={styles.parts}>
            {dag.parts.map((part) => (
                <li key={part.asset}>
                    <span aria-hidden="true">{part.gathered > 0 ? "✓" : "·"}</span>{" "}
                    <Link to={`?asset=${encodeURIComponent(part.asset)}`}>{nameOf(part.asset)}</Link>{" "}
                    <small>
                        {part.gathered === 0 ? "no event" : `${part.gathered} event${part.gathered === 1 ? "" : "s"}`}
                        {part.newestAt !== null && (
                            <>
                                , <FromNow at={part.newestAt} />
                            </>
                        )}
                    </small>
                </li>
            ))}
        </ul>
    );
}
