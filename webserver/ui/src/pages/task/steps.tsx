import { useQuery } from "@tanstack/react-query";
import { answered, api, type Got } from "../../api/client";
import { Moment, Took } from "../../components/clock";
import { hasFailed } from "../../components/failures";
import { JsonView } from "../../components/json_view";
import { EmptyNote, ErrorNote, Skeleton } from "../../components/notes";
import { type Column, Table } from "../../components/table";
import { type InstanceName, instanceKey } from "./shape";

type Step = Got<"/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/steps">["steps"][number];

/** A step with its place among those of the task; its number counts through the steps of all tasks. */
type Placed = Step & { place: number };

const COLUMNS: Column<Placed>[] = [
    { head: "Step", cell: (step) => step.place, isNumber: true },
    { head: "Name", cell: (step) => step.name },
    { head: "Kind", cell: (step) => step.kind },
    { head: "State", cell: (step) => <StateOfStep step={step} /> },
    { head: "Begun", cell: (step) => <Moment at={step.begun_at} /> },
    { head: "Took", cell: (step) => <Took from={step.begun_at} to={step.done_at} />, isNumber: true },
    { head: "Value", cell: (step) => <ValueOfStep step={step} /> },
];

function StateOfStep({ step }: { step: Step }) {
    if (step.done_at !== null || step.due_at === null) return step.state;
    return (
        <>
            {step.state} until <Moment at={step.due_at} />
        </>
    );
}

function ValueOfStep({ step }: { step: Step }) {
    if (step.done_at === null) return "–";
    return step.value === null ? "nothing" : <JsonView value={step.value} />;
}

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
    if (hasFailed(steps)) return <ErrorNote error={steps.error} />;
    if (steps.data === undefined) return <Skeleton height="8rem" />;
    if (steps.data.steps.length === 0) {
        return (
            <EmptyNote title="No durable steps">
                <p>Steps of a task with durable=True are recorded here, and not done again by a later attempt.</p>
            </EmptyNote>
        );
    }
    const rows = steps.data.steps.map((step, at) => ({ ...step, place: at + 1 }));
    return <Table label="Durable steps" columns={COLUMNS} rows={rows} keyOf={(step) => String(step.number)} />;
}
