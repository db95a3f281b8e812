import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { TaskActions } from "../../actions/task_actions";
import { answered, api, type Got } from "../../api/client";
import { Button } from "../../components/button";
import { Moment, Took } from "../../components/clock";
import { Crumbs } from "../../components/crumbs";
import { hasFailed } from "../../components/failures";
import { dagPath, runPath, taskPath } from "../../components/links";
import { EmptyNote, ErrorNote, Skeleton } from "../../components/notes";
import { PageHead } from "../../components/page";
import { State, StateSign, wordsOf } from "../../components/state";
import { type Column, Table } from "../../components/table";
import { useAddress } from "../dag/use_address";
import { type InstanceName, instanceKey } from "./shape";
import styles from "./task.module.css";

type Row = Got<"/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}/instances">["instances"][number];

/** The instances of a mapped task in a run, by state and page by page. */
export function MappedPage({ name }: { name: InstanceName }) {
    const [address] = useAddress();
    const state = address.get("state") ?? "";
    const rows = useInfiniteQuery({
        queryKey: instanceKey(name, "instances", state),
        queryFn: ({ pageParam }) => answered(pageOf(name, state, pageParam)),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
        placeholderData: keepPreviousData,
    });
    if (hasFailed(rows)) return <ErrorNote error={rows.error} />;
    if (rows.data === undefined) return <Skeleton height="36rem" />;
    const instances = rows.data.pages.flatMap((page) => page.instances);
    return (
        <div className={styles.task}>
            <div className={styles.head}>
                <Crumbs
                    crumbs={[
                        { to: dagPath(name.dagId), label: name.dagId },
                        { to: runPath(name.dagId, name.runId), label: name.runId },
                    ]}
                />
                <PageHead title={name.taskId} actions={<TaskActions {...name} mapIndex={null} />}>
                    Mapped task
                </PageHead>
            </div>
            <States counts={rows.data.pages[0]?.counts ?? {}} chosen={state} />
            {instances.length === 0 ? (
                <EmptyNote title="No instance is in that state">
                    <p>Choose another state, or look at all of them.</p>
                </EmptyNote>
            ) : (
                <Table
                    label="Instances"
                    columns={columnsOf(name)}
                    rows={instances}
                    keyOf={(row) => String(row.map_index)}
                />
            )}
            {rows.hasNextPage && (
                <Button onClick={() => void rows.fetchNextPage()} disabled={rows.isFetchingNextPage}>
                    Show more
                </Button>
            )}
        </div>
    );
}

function pageOf(name: InstanceName, state: string, cursor: string) {
    return api.GET("/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}/instances", {
        params: {
            path: { dag_id: name.dagId, run_id: name.runId, task_id: name.taskId },
            query: { limit: 200, state: state === "" ? [] : [state], cursor },
        },
    });
}

function columnsOf(name: InstanceName): Column<Row>[] {
    return [
        {
            head: "Instance",
            cell: (row) => (
                <Link to={taskPath(name.dagId, name.runId, name.taskId, row.map_index)}>
                    {row.rendered_map_index === null ? row.map_index : `${row.map_index}: ${row.rendered_map_index}`}
                </Link>
            ),
        },
        { head: "State", cell: (row) => <State state={row.state} /> },
        { head: "Started", cell: (row) => <Moment at={row.started_at} /> },
        { head: "Took", cell: (row) => <Took from={row.started_at} to={row.ended_at} />, isNumber: true },
        { head: "Try", cell: (row) => `${row.try_number} of ${row.max_tries + 1}`, isNumber: true },
        { head: "Host", cell: (row) => row.hostname ?? "–" },
        { head: "Note", cell: (row) => (row.has_note ? "has a note" : ""), has: (row) => row.has_note },
    ];
}

function States({ counts, chosen }: { counts: Record<string, number>; chosen: string }) {
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return (
        <nav className={styles.tries} aria-label="Instances by state">
            <Link to={{ search: "" }} aria-current={chosen === "" ? "page" : undefined}>
                All {all}
            </Link>
            {Object.entries(counts).map(([state, count]) => (
                <Link
                    key={state}
                    to={{ search: `?state=${state}` }}
                    aria-current={chosen === state ? "page" : undefined}
                >
                    <StateSign state={state} /> {wordsOf(state)} {count}
                </Link>
            ))}
        </nav>
    );
}
