import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { Moment } from "../../components/clock";
import { hasFailed } from "../../components/failures";
import { JsonView } from "../../components/json_view";
import { EmptyNote, ErrorNote, Skeleton } from "../../components/notes";
import { Panel } from "../../components/page";
import { type InstanceName, instanceKey } from "./shape";
import styles from "./task.module.css";

/** What the task instance left for others. */
export function XComs({ name }: { name: InstanceName }) {
    const path = { dag_id: name.dagId, dag_run_id: name.runId, task_id: name.taskId };
    const list = useQuery({
        queryKey: instanceKey(name, "xcoms"),
        queryFn: () =>
            answered(
                api.GET("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/xcomEntries", {
                    params: { path, query: { map_index: name.mapIndex, limit: 100 } },
                }),
            ),
    });
    if (hasFailed(list)) return <ErrorNote error={list.error} />;
    if (list.data === undefined) return <Skeleton height="8rem" />;
    if (list.data.xcom_entries.length === 0) {
        return (
            <EmptyNote title="No XComs">
                <p>What the task returns or pushes with xcom_push is shown here.</p>
            </EmptyNote>
        );
    }
    return list.data.xcom_entries.map((entry) => (
        <Panel key={entry.key} title={entry.key}>
            <p className={styles.soft}>
                Pushed <Moment at={entry.timestamp} />
            </p>
            <XComValue name={name} xcomKey={entry.key} />
        </Panel>
    ));
}

function XComValue({ name, xcomKey }: { name: InstanceName; xcomKey: string }) {
    const path = { dag_id: name.dagId, dag_run_id: name.runId, task_id: name.taskId, xcom_key: xcomKey };
    const entry = useQuery({
        queryKey: instanceKey(name, "xcoms", xcomKey),
        queryFn: () =>
            answered(
                api.GET("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/xcomEntries/{xcom_key}", {
                    params: { path, query: { map_index: name.mapIndex } },
                }),
            ),
    });
    if (hasFailed(entry)) return <ErrorNote error={entry.error} />;
    if (entry.data === undefined) return <Skeleton height="3rem" />;
    return <JsonView value={entry.data.value} />;
}
