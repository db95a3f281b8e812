import { Link } from "react-router";
import { may, useMe } from "../../api/rights";
import { FromNow } from "../../components/clock";
import { PageHead } from "../../components/page";
import { BackfillButton } from "../../forms/backfill/backfill_button";
import { TriggerButton } from "../../forms/trigger/trigger_button";
import { OnSwitch } from "../dags/on_switch";
import { Star } from "../dags/star";
import styles from "./dag.module.css";
import type { DagHeadShape } from "./shape";

/** Name, switch, schedule and troubles of a DAG. */
export function DagHead({ dag }: { dag: DagHeadShape }) {
    return (
        <div>
            <PageHead
                title={dag.name}
                actions={
                    <>
                        <Star dag={dag} />
                        <span className={styles.on}>
                            {dag.is_paused ? "Paused" : "On"}
                            <OnSwitch dag={dag} />
                        </span>
                        {dag.is_backfillable && <BackfillButton dagId={dag.dag_id} />}
                        <TriggerButton dagId={dag.dag_id} look="main" />
                    </>
                }
            >
                {dag.description}
            </PageHead>
            <dl className={styles.facts}>
                <Fact name="Schedule">{dag.schedule ?? "by hand"}</Fact>
                <Fact name="Next run">
                    {dag.is_paused || dag.next_run_at === null ? "none" : <FromNow at={dag.next_run_at} />}
                </Fact>
                <Fact name="Runs">
                    {dag.running_runs} of {dag.max_active_runs} running, {dag.queued_runs} queued
                </Fact>
                <Fact name="Owner">{dag.owners.join(", ")}</Fact>
                <Fact name="Version">{dag.version_number ?? "none"}</Fact>
            </dl>
            {dag.import_error !== null && <Broken error={dag.import_error} dagId={dag.dag_id} />}
            {dag.warnings.map((warning) => (
                <p key={warning.message} className={styles.warning}>
                    {warning.message}
                </p>
            ))}
        </div>
    );
}

/** Why the file cannot be read; runs go on by the newest version that could. */
function Broken({ error, dagId }: { error: string; dagId: string }) {
    const me = useMe();
    return (
        <section className={styles.broken} aria-label="The file is broken">
            <p>
                The file of this DAG cannot be read; the newest version that could be is used until it is mended.{" "}
                {may(me, "read code", dagId) && <Link to="/admin/problems">Show the broken files</Link>}
            </p>
            <pre>{error}</pre>
        </section>
    );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
    return (
        <div>
            <dt>{name}</dt>
            <dd>{children}</dd>
        </div>
    );
}
