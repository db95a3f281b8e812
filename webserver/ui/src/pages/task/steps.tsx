import { useQuery } from "@tanstack/react-query";
import { answered, api, type Got } from "../../api/client";
import { Moment, Took } from "../../components/clock";
import { JsonView } from "../../components/json_view";
import { EmptyNote, ErrorNote, Skeleton } from "../../components/notes";
import { type Column, Table } from "../../components/table";
import { type InstanceName, instanceKey } from "./shape";

type Step = Got<"/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/steps">["steps"][number];

const COLUMNS: Column<Step>[] = [
    { head: "Step", cell: (step) => step.number, isNumber: true },
    { head: "Name", cell: (step) => step.name },
    { head: "Kind", cell: (step) => step.kind },
    { head: "State", cell: (step) => step.state },
    { head: "Begun", cell: (step) => <Moment at={step.begun_at} /> },
    { head: "Took", cell: (step) => <Took from={step.begun_at} to={step.done_at} />, isNumber: true },
    { head: "Due", cell: (step) => <Moment at={step.due_at} /> },
    { head: "Value", cell: (step) => (step.done_at === null ? "–" : <JsonView value={step.value} />) },
];

/** The journal of durable steps: what is done and will not be done again, and what is waited for. */
export function Steps({ name }: { name: InstanceName }) {
    const steps = useQuery({
        queryKey: instanceKey(name, "steps"),
        queryFn: () =>
            answered(
                api.GET("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/steps", {
                    params: {
                        path: { dag_id: name.dagId, dag_run_id: name.runId, task_id: name.taskId },
                        query: { map_index: name.mapIndex },
                    },
                }),
            ),
    });
    if (steps.isError) return <ErrorNote error={steps.error} />;
    if (steps.data === undefined) return <Skeleton height="8rem" />;
    if (steps.data.steps.length === 0) {
        return (
            <EmptyNote title="No durable steps">
                <p>Steps of a task with durable=True are recorded here, and not done again by a later attempt.</p>
            </EmptyNote>
        );
    }
    return (
        <Table label="Durable steps" columns={COLUMNS} rows={steps.data.steps} keyOf={(step) => String(step.number)} />
    );
}
