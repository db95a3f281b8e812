import { Link } from "react-router";
import { Moment, Took } from "../../components/clock";
import { dagPath, runPath } from "../../components/links";
import { State } from "../../components/state";
import type { Column } from "../../components/table";
import styles from "../dags/dags.module.css";
import type { RunRow } from "./filters";

/** Return what tells a run from all others. */
export const keyOf = (run: RunRow): string => `${run.dag_id} ${run.run_id}`;

export const COLUMNS: Column<RunRow>[] = [
    { head: "State", cell: (run) => <State state={run.state} /> },
    {
        head: "DAG",
        cell: (run) => (
            <Link className={styles.dag} to={dagPath(run.dag_id)}>
                {run.dag_name}
            </Link>
        ),
    },
    {
        head: "Run",
        cell: (run) => (
            <div className={styles.run}>
                <Link to={runPath(run.dag_id, run.run_id)} title={run.run_id}>
                    {run.run_id}
                </Link>
                {run.note !== null && (
                    <span className={styles.description} title={run.note}>
                        {run.note}
                    </span>
                )}
            </div>
        ),
    },
    {
        head: "Made by",
        isWide: true,
        cell: (run) => [run.run_type.replaceAll("_", " "), run.triggering_user].filter(Boolean).join(", "),
    },
    { head: "Logical date", isWide: true, cell: (run) => <Moment at={run.logical_date} /> },
    { head: "Started", cell: (run) => <Moment at={run.started_at} /> },
    { head: "Took", isNumber: true, cell: (run) => <Took from={run.started_at} to={run.ended_at} /> },
];
