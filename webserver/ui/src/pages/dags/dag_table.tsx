import { Link } from "react-router";
import { FromNow } from "../../components/clock";
import { dagPath } from "../../components/links";
import { RunBars } from "../../components/run_bars";
import { type Choosing, type Column, Table } from "../../components/table";
import { TriggerButton } from "../../forms/trigger/trigger_button";
import styles from "./dags.module.css";
import type { DagRow } from "./filters";
import { OnSwitch } from "./on_switch";
import { Star } from "./star";

const COLUMNS: Column<DagRow>[] = [
    { head: "Favourite", isHeadHidden: true, cell: (dag) => <Star dag={dag} /> },
    { head: "On", cell: (dag) => <OnSwitch dag={dag} /> },
    { head: "DAG", cell: (dag) => <Name dag={dag} /> },
    { head: "Schedule", cell: (dag) => dag.schedule ?? <span className={styles.quiet}>by hand</span> },
    { head: "Next run", cell: (dag) => <NextRun dag={dag} /> },
    { head: "Last runs", cell: (dag) => <RunBars dagId={dag.dag_id} runs={dag.recent_runs} /> },
    { head: "Owner", cell: (dag) => dag.owners.join(", "), isWide: true },
    { head: "Trigger", isHeadHidden: true, cell: (dag) => <TriggerButton dagId={dag.dag_id} isOneOfMany /> },
];

/** A page of DAGs as a table. */
export function DagTable({ dags, choosing }: { dags: readonly DagRow[]; choosing?: Choosing | undefined }) {
    return <Table label="DAGs" columns={COLUMNS} rows={dags} keyOf={(dag) => dag.dag_id} choosing={choosing} />;
}

function Name({ dag }: { dag: DagRow }) {
    return (
        <div className={styles.name}>
            <span className={styles.first}>
                <Link to={dagPath(dag.dag_id)}>{dag.name}</Link>
                {dag.tags.map((tag) => (
                    <Link key={tag} className={styles.tag} to={{ search: `?tag=${encodeURIComponent(tag)}` }}>
                        {tag}
                    </Link>
                ))}
            </span>
            {dag.has_import_errors && <span className={styles.problem}>its file cannot be imported</span>}
            {dag.description !== null && (
                <span className={styles.description} title={dag.description}>
                    {dag.description}
                </span>
            )}
        </div>
    );
}

function NextRun({ dag }: { dag: DagRow }) {
    if (dag.is_paused) return <span className={styles.quiet}>paused</span>;
    if (dag.is_at_run_limit) return <span className={styles.quiet}>when a run ends</span>;
    return dag.next_run_at === null ? <span className={styles.quiet}>–</span> : <FromNow at={dag.next_run_at} />;
}
