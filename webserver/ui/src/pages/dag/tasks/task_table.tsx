import { useState } from "react";
import { Button } from "../../../components/button";
import { Select } from "../../../components/field";
import { type Column, Table } from "../../../components/table";
import { lengthOf } from "../../../components/times";
import toolbar from "../toolbar.module.css";
import { useAddress } from "../use_address";
import { type Durations, ORDERS, ordered } from "./series";
import styles from "./tasks.module.css";

type Task = Durations["tasks"][number];

const STEP = 100;
const WORDS = { task_id: "name", median_seconds: "median", p95_seconds: "95th percentile", failed: "failures" };

/** All tasks with how long they take; one of them can be chosen for a chart. */
export function TaskTable({ tasks }: { tasks: readonly Task[] }) {
    const [address, change] = useAddress();
    const [shown, setShown] = useState(STEP);
    const order = ORDERS.find((one) => one === address.get("order")) ?? "median_seconds";
    const rows = ordered([...tasks], order);
    const longest = Math.max(...tasks.map((task) => task.p95_seconds ?? task.median_seconds ?? 0), 0.001);
    return (
        <>
            <div className={toolbar.bar}>
                <Select label="Tasks by" value={order} onChange={(event) => change({ order: event.target.value })}>
                    {ORDERS.map((one) => (
                        <option key={one} value={one}>
                            {WORDS[one]}
                        </option>
                    ))}
                </Select>
            </div>
            <Table
                label="Tasks and how long they take"
                columns={columnsOf(longest, (task) => change({ task }), address.get("task"))}
                rows={rows.slice(0, shown)}
                keyOf={(task) => task.task_id}
            />
            {shown < rows.length && (
                <Button onClick={() => setShown(shown + STEP)}>
                    Show more ({rows.length - shown} are not shown yet)
                </Button>
            )}
        </>
    );
}

function columnsOf(longest: number, choose: (task: string | null) => void, chosen: string | null): Column<Task>[] {
    return [
        {
            head: "Task",
            cell: ({ task_id }) => (
                <button
                    type="button"
                    className={styles.name}
                    aria-pressed={chosen === task_id}
                    onClick={() => choose(chosen === task_id ? null : task_id)}
                >
                    {task_id}
                </button>
            ),
        },
        { head: "Median to p95", cell: (task) => <Range task={task} longest={longest} /> },
        { head: "Median", isNumber: true, cell: (task) => lengthOf(task.median_seconds) },
        { head: "p95", isNumber: true, cell: (task) => lengthOf(task.p95_seconds) },
        { head: "Longest", isNumber: true, cell: (task) => lengthOf(task.longest_seconds) },
        { head: "Queued", isNumber: true, cell: (task) => lengthOf(task.median_queue_seconds) },
        { head: "Instances", isNumber: true, cell: (task) => task.instances },
        { head: "Failed", isNumber: true, cell: (task) => task.failed },
        { head: "Most tries", isNumber: true, cell: (task) => task.most_tries },
    ];
}

/** A bar up to the median, and a thin one on to the 95th percentile. */
function Range({ task, longest }: { task: Task; longest: number }) {
    const share = (seconds: number | null) => `${(100 * (seconds ?? 0)) / longest}%`;
    return (
        <div className={styles.range} aria-hidden="true">
            <i style={{ width: share(task.p95_seconds) }} />
            <b style={{ width: share(task.median_seconds) }} />
        </div>
    );
}
