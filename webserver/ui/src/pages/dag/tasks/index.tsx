import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { useZone } from "../../../components/clock";
import { hasFailed } from "../../../components/failures";
import { Select } from "../../../components/field";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { Panel } from "../../../components/page";
import { useDag } from "../shape";
import toolbar from "../toolbar.module.css";
import { useAddress } from "../use_address";
import { Chart } from "./chart";
import { runSeries } from "./series";
import { TaskChart } from "./task_chart";
import { TaskTable } from "./task_table";

const COUNTS = [25, 50, 100, 250, 500];

/** How long the DAG's runs and tasks take: the newest runs, and the median and 95th percentile over them. */
export function Component() {
    const { dag_id: dagId } = useDag();
    const zone = useZone();
    const [address, change] = useAddress();
    const runs = COUNTS.find((one) => String(one) === address.get("runs")) ?? 50;
    const durations = useQuery({
        queryKey: keys.dagOverview(dagId, "durations", runs),
        queryFn: () =>
            answered(api.GET("/ui/dags/{dag_id}/durations", { params: { path: { dag_id: dagId }, query: { runs } } })),
        placeholderData: (before) => before,
    });
    const series = useMemo(() => (durations.data === undefined ? [] : runSeries(durations.data)), [durations.data]);
    if (hasFailed(durations)) return <ErrorNote error={durations.error} />;
    if (durations.data === undefined) return <Skeleton height="40rem" />;
    if (durations.data.tasks.length === 0) {
        return (
            <EmptyNote title="Nothing has run yet">
                <p>Once tasks have ended, this page tells how long they take. Trigger a run to see it.</p>
            </EmptyNote>
        );
    }
    const task = durations.data.tasks.find((one) => one.task_id === address.get("task"));
    return (
        <div className={toolbar.part}>
            <div className={toolbar.bar}>
                <Select label="Over the newest" value={runs} onChange={(event) => change({ runs: event.target.value })}>
                    {COUNTS.map((one) => (
                        <option key={one} value={one}>
                            {one} runs
                        </option>
                    ))}
                </Select>
            </div>
            <Panel title="Runs">
                <Chart
                    dagId={dagId}
                    label="How long the runs took"
                    points={durations.data.runs}
                    series={series}
                    zone={zone}
                />
            </Panel>
            {task !== undefined && <TaskChart dagId={dagId} task={task} runs={runs} zone={zone} />}
            <TaskTable tasks={durations.data.tasks} />
        </div>
    );
}
