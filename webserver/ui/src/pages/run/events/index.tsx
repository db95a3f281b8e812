import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { answered, api, type Got } from "../../../api/client";
import { keys } from "../../../api/keys";
import { may, useMe } from "../../../api/rights";
import { Button } from "../../../components/button";
import { Moment } from "../../../components/clock";
import { hasFailed } from "../../../components/failures";
import { JsonView } from "../../../components/json_view";
import { ErrorNote, Skeleton } from "../../../components/notes";
import { Panel } from "../../../components/page";
import { type Column, Table } from "../../../components/table";
import { EventTable } from "../../task/asset_events";
import styles from "../run.module.css";
import { type Run, useRun } from "../shape";

type Change = Got<"/ui/audit">["events"][number];

/** What started the run, and what people did with it. */
export function Component() {
    const run = useRun();
    const me = useMe();
    return (
        <div className={styles.page}>
            <Panel title="Asset events that it was started by">
                <Upstream run={run} />
            </Panel>
            {may(me, "read the audit log", run.dag_id) && (
                <Panel title="Audit log">
                    <Audit run={run} />
                </Panel>
            )}
        </div>
    );
}

function Upstream({ run }: { run: Run }) {
    const events = useQuery({
        queryKey: keys.run(run.dag_id, run.run_id, "upstream-events"),
        queryFn: () =>
            answered(
                api.GET("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/upstreamAssetEvents", {
                    params: { path: { dag_id: run.dag_id, dag_run_id: run.run_id } },
                }),
            ),
    });
    if (hasFailed(events)) return <ErrorNote error={events.error} />;
    if (events.data === undefined) return <Skeleton height="4rem" />;
    if (events.data.asset_events.length === 0) return <p className={styles.soft}>No asset event started this run.</p>;
    return <EventTable events={events.data.asset_events} />;
}

const COLUMNS: Column<Change>[] = [
    { head: "When", cell: (change) => <Moment at={change.happened_at} /> },
    { head: "Who", cell: (change) => change.actor },
    { head: "What", cell: (change) => change.event.replaceAll("_", " ") },
    { head: "Task", cell: (change) => change.task_id ?? "–" },
    {
        head: "Details",
        cell: (change) => (Object.keys(change.detail).length === 0 ? "–" : <JsonView value={change.detail} />),
    },
];

function Audit({ run }: { run: Run }) {
    const changes = useInfiniteQuery({
        queryKey: keys.run(run.dag_id, run.run_id, "audit"),
        queryFn: ({ pageParam }) =>
            answered(
                api.GET("/ui/audit", {
                    params: { query: { dag_id: run.dag_id, run_id: run.run_id, cursor: pageParam } },
                }),
            ),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
    });
    if (hasFailed(changes)) return <ErrorNote error={changes.error} />;
    if (changes.data === undefined) return <Skeleton height="8rem" />;
    const rows = changes.data.pages.flatMap((page) => page.events);
    if (rows.length === 0) return <p className={styles.soft}>Nobody has changed this run.</p>;
    return (
        <>
            <Table label="Audit log" columns={COLUMNS} rows={rows} keyOf={(change) => String(change.id)} />
            {changes.hasNextPage && <Button onClick={() => void changes.fetchNextPage()}>Show more</Button>}
        </>
    );
}
