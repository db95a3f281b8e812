import { useCallback, useMemo } from "react";
import { useNavigate } from "react-router";
import { LineChart, type Series } from "../../../charts/line_chart";
import { runPath } from "../../../components/links";
import { momentIn } from "../../../components/times";

interface ChartProps {
    dagId: string;
    label: string;
    points: readonly { run_id: string; run_after: string | null }[];
    series: readonly Series[];
    zone: string;
}

/** Durations by run, the newest at the right; a click opens the run. */
export function Chart({ dagId, label, points, series, zone }: ChartProps) {
    const navigate = useNavigate();
    const names = useMemo(
        () => points.map((one) => (one.run_after === null ? one.run_id : momentIn(zone, one.run_after).slice(5, 16))),
        [points, zone],
    );
    const pick = useCallback(
        (at: number) => {
            const run = points[at];
            if (run !== undefined) void navigate(runPath(dagId, run.run_id));
        },
        [points, navigate, dagId],
    );
    return <LineChart label={label} names={names} series={series} onPick={pick} />;
}
