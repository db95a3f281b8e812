import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { hasFailed } from "../../../components/failures";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { Panel } from "../../../components/page";
import { Chart } from "./chart";
import { type Durations, taskSeries } from "./series";

interface TaskChartProps {
    dagId: string;
    task: Durations["tasks"][number];
    runs: number;
    zone: string;
}

/** How long one task took in each of the newest runs. */
export function TaskChart({ dagId, task, runs, zone }: TaskChartProps) {
    const points = useQuery({
        queryKey: keys.dagOverview(dagId, "durations", runs, task.task_id),
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/durations/{task_id}", {
                    params: { path: { dag_id: dagId, task_id: task.task_id }, query: { runs } },
                }),
            ),
    });
    const series = useMemo(
        () => (points.data === undefined ? [] : taskSeries(points.data, task.median_seconds, task.p95_seconds)),
        [points.data, task.median_seconds, task.p95_seconds],
    );
    return (
        <Panel title={task.task_id}>
            {hasFailed(points) && <ErrorNote error={points.error} />}
            {points.isPending && <Skeleton height="275px" />}
            {points.data?.points.length === 0 && <EmptyNote title="None of these runs has run this task" />}
            {points.data !== undefined && points.data.points.length > 0 && (
                <Chart
                    dagId={dagId}
                    label={`How long ${task.task_id} took`}
                    points={points.data.points}
                    series={series}
                    zone={zone}
                />
            )}
        </Panel>
    );
}
