import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { answered, api, type Got } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Moment } from "../../../components/clock";
import { hasFailed } from "../../../components/failures";
import { JsonView } from "../../../components/json_view";
import { Markdown } from "../../../components/markdown";
import { ErrorNote, Skeleton } from "../../../components/notes";
import { Panel } from "../../../components/page";
import { lengthOf } from "../../../components/times";
import { useDag } from "../shape";
import styles from "./details.module.css";

type Details = Got<"/api/v2/dags/{dag_id}/details">;

/** All that the newest version says of the DAG. */
export function Component() {
    const { dag_id: dagId } = useDag();
    const details = useQuery({
        queryKey: [...keys.dag(dagId), "details"],
        queryFn: () => answered(api.GET("/api/v2/dags/{dag_id}/details", { params: { path: { dag_id: dagId } } })),
    });
    if (hasFailed(details)) return <ErrorNote error={details.error} />;
    if (details.data === undefined) return <Skeleton height="30rem" />;
    return <Shown dag={details.data} />;
}

function Shown({ dag }: { dag: Details }) {
    return (
        <div className={styles.parts}>
            {dag.doc_md !== null && (
                <Panel title="About" className={styles.wide}>
                    <Markdown text={dag.doc_md} />
                </Panel>
            )}
            <Panel title="Schedule">
                <Rows>
                    <Row name="Schedule">{dag.timetable_summary ?? "by hand"}</Row>
                    <Row name="Time zone">{dag.timezone}</Row>
                    <Row name="Starts">{dag.start_date === null ? "–" : <Moment at={dag.start_date} />}</Row>
                    <Row name="Ends">{dag.end_date === null ? "never" : <Moment at={dag.end_date} />}</Row>
                    <Row name="Missed times">{toldBy(MISSED, dag.catchup_policy)}</Row>
                    <Row name="Times at the limit of runs">{toldBy(OVERLAP, dag.overlap_policy)}</Row>
                    <Row name="Next run after">
                        <Moment at={dag.next_dagrun_run_after} />
                    </Row>
                    <Row name="Its interval">
                        <Moment at={dag.next_dagrun_data_interval_start} />
                        {dag.next_dagrun_data_interval_start !== dag.next_dagrun_data_interval_end && (
                            <>
                                {" to "}
                                <Moment at={dag.next_dagrun_data_interval_end} />
                            </>
                        )}
                    </Row>
                </Rows>
            </Panel>
            <Panel title="Limits">
                <Rows>
                    <Row name="Runs at once">{dag.max_active_runs}</Row>
                    <Row name="Tasks at once">{dag.max_active_tasks}</Row>
                    <Row name="Failed runs in a row until it is paused">
                        {dag.max_consecutive_failed_dag_runs === 0 ? "no limit" : dag.max_consecutive_failed_dag_runs}
                    </Row>
                    <Row name="A run may take">{dag.dag_run_timeout ?? "any time"}</Row>
                    <Row name="Kinds of runs allowed">{dag.allowed_run_types?.map(words).join(", ") ?? "all"}</Row>
                </Rows>
            </Panel>
            <Panel title="File">
                <Rows>
                    <Row name="File">{dag.relative_fileloc}</Row>
                    <Row name="Bundle">{dag.bundle_name}</Row>
                    <Row name="Version">{dag.latest_dag_version?.version_number ?? "none"}</Row>
                    <Row name="First seen as it is">
                        <Moment at={dag.latest_dag_version?.created_at} />
                    </Row>
                    <Row name="Last read">
                        <Moment at={dag.last_parsed} />
                    </Row>
                    <Row name="To read it took">{lengthOf(dag.last_parse_duration)}</Row>
                    <Row name="Owners">{dag.owners.join(", ")}</Row>
                    <Row name="Tags">{dag.tags.map((tag) => tag.name).join(", ") || "none"}</Row>
                </Rows>
            </Panel>
            {Object.keys(dag.params ?? {}).length > 0 && (
                <Panel title="Params" className={styles.wide}>
                    <JsonView value={dag.params} />
                </Panel>
            )}
            {dag.asset_expression !== null && (
                <Panel title="Assets that it waits for" className={styles.wide}>
                    <JsonView value={dag.asset_expression} />
                </Panel>
            )}
        </div>
    );
}

/** What the policies of docs/explanation/time.md do. */
const MISSED: Record<string, string> = {
    all: "each becomes a run (all)",
    last: "the latest becomes a run (last)",
    none: "none becomes a run (none)",
};
const OVERLAP: Record<string, string> = { wait: "waits until there is room (wait)", skip: "is left out (skip)" };

const toldBy = (told: Record<string, string>, name: string): string => told[name] ?? words(name);

const words = (name: string): string => name.replaceAll("_", " ");

function Rows({ children }: { children: ReactNode }) {
    return <dl className={styles.rows}>{children}</dl>;
}

function Row({ name, children }: { name: string; children: ReactNode }) {
    return (
        <>
            <dt>{name}</dt>
            <dd>{children}</dd>
        </>
    );
}
