import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { answered, api, type Got } from "../../api/client";
import { Moment } from "../../components/clock";
import { hasFailed } from "../../components/failures";
import { JsonView } from "../../components/json_view";
import { runPath } from "../../components/links";
import { EmptyNote, ErrorNote, Skeleton } from "../../components/notes";
import { type Column, Table } from "../../components/table";
import { type InstanceName, instanceKey } from "./shape";
import styles from "./task.module.css";

type Event = Got<"/api/v2/assets/events">["asset_events"][number];

const COLUMNS: Column<Event>[] = [
    {
        head: "Asset",
        cell: (event) => <Link to={`/assets?asset=${encodeURIComponent(`asset:${event.name}`)}`}>{event.name}</Link>,
    },
    { head: "When", cell: (event) => <Moment at={event.timestamp} /> },
    { head: "Partition", cell: (event) => event.partition_key ?? "–" },
    { head: "Started runs", cell: (event) => <StartedRuns event={event} /> },
    {
        head: "Extra",
        cell: (event) => (Object.keys(event.extra).length === 0 ? "–" : <JsonView value={event.extra} />),
    },
];

/** The asset events that this task instance made, and the runs that came of them. */
export function AssetEvents({ name }: { name: InstanceName }) {
    const events = useQuery({
        queryKey: instanceKey(name, "asset-events"),
        queryFn: () =>
            answered(
                api.GET("/api/v2/assets/events", {
                    params: {
                        query: {
                            source_dag_id: name.dagId,
                            source_run_id: name.runId,
                            source_task_id: name.taskId,
                            source_map_index: name.mapIndex,
                            limit: 100,
                        },
                    },
                }),
            ),
    });
    if (hasFailed(events)) return <ErrorNote error={events.error} />;
    if (events.data === undefined) return <Skeleton height="8rem" />;
    if (events.data.asset_events.length === 0) {
        return (
            <EmptyNote title="No asset events">
                <p>A task that has outlets makes one of each when it succeeds.</p>
            </EmptyNote>
        );
    }
    return <EventTable events={events.data.asset_events} />;
}

/** Events of assets, with the runs that they started. */
export function EventTable({ events }: { events: readonly Event[] }) {
    return <Table label="Asset events" columns={COLUMNS} rows={events} keyOf={(event) => String(event.id)} />;
}

function StartedRuns({ event }: { event: Event }) {
    if (event.created_dagruns.length === 0) return "none yet";
    return (
        <span className={styles.links}>
            {event.created_dagruns.map((run) => (
                <Link key={`${run.dag_id}/${run.run_id}`} to={runPath(run.dag_id, run.run_id)}>
                    {run.dag_id}
                </Link>
            ))}
        </span>
    );
}
