import { useMemo } from "react";
import { Button } from "../../../components/button";
import { FromNow, useNow } from "../../../components/clock";
import { hasFailed } from "../../../components/failures";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { Legend } from "../../dag/legend";
import toolbar from "../../dag/toolbar.module.css";
import { useAddress, useFolding } from "../../dag/use_address";
import { Chart } from "./chart";
import styles from "./gantt.module.css";
import { type GanttRow, type GanttShape, ganttRows, windowOf } from "./model";
import { useGantt } from "./use_gantt";
import { useZoom } from "./use_zoom";

/** The Gantt chart of a run: every try with its time in the queue, and what the run's end had to wait for. */
export function GanttView({ dagId, runId }: { dagId: string; runId: string }) {
    const gantt = useGantt(dagId, runId);
    if (hasFailed(gantt)) return <ErrorNote error={gantt.error} />;
    if (gantt.data === undefined) return <Skeleton height="28rem" />;
    if (gantt.data.bars.length === 0) {
        return (
            <EmptyNote title="Nothing has been tried yet">
                <p>Bars appear as soon as the first task of the run is queued.</p>
            </EmptyNote>
        );
    }
    return <Shown run={gantt.data} />;
}

function Shown({ run }: { run: GanttShape }) {
    const [address, change] = useAddress();
    const { toggled, fold } = useFolding();
    const ticking = useNow();
    // A run that has ended stands still.
    const now = run.ended_at === null ? ticking : Date.parse(run.ended_at);
    const eta = run.expected_end_at === null ? null : Date.parse(run.expected_end_at);
    const isCriticalOnly = address.get("only") === "critical";
    const whole = windowOf(run, now, eta);
    const { shown, isWhole, show, zoom } = useZoom(whole);
    const rows = useMemo(() => shownRows(run, toggled, isCriticalOnly), [run, toggled, isCriticalOnly]);
    return (
        <div className={toolbar.part}>
            <div className={toolbar.bar}>
                <Button
                    aria-pressed={isCriticalOnly}
                    onClick={() => change({ only: isCriticalOnly ? null : "critical" })}
                >
                    {isCriticalOnly ? "Show all tasks" : "Show the critical path only"}
                </Button>
                {run.rows.some((row) => row.kind === "group") && (
                    <div className={toolbar.buttons}>
                        <Button onClick={() => change({ fold: closedAll(run) })}>Close all groups</Button>
                        <Button onClick={() => change({ fold: openedAll(run) })}>Open all groups</Button>
                    </div>
                )}
                <div className={toolbar.buttons}>
                    <Button onClick={() => zoom(0.5)}>Zoom in</Button>
                    <Button disabled={isWhole} onClick={() => zoom(2)}>
                        Zoom out
                    </Button>
                    <Button disabled={isWhole} onClick={() => show(whole)}>
                        Whole run
                    </Button>
                </div>
                {run.expected_end_at !== null && (
                    <span>
                        Expected to end <FromNow at={run.expected_end_at} />, by the median of the last runs
                    </span>
                )}
            </div>
            {run.is_truncated && <p>The run has more attempts than one chart can show; these are the first of them.</p>}
            <Chart run={run} rows={rows} now={now} eta={eta} shown={shown} whole={whole} onShow={show} onFold={fold} />
            <ul className={styles.key} aria-label="Signs of the chart">
                <li>
                    <i data-part="waiting" /> waiting for a place and a worker
                </li>
                <li>
                    <i data-part="running" /> running, a bar for each try
                </li>
                <li>
                    <i data-part="critical" /> ◆ on the critical path: the run's end had to wait for it
                </li>
                <li>Drag over a part of the chart to look closer; Ctrl and the wheel zoom too.</li>
            </ul>
            <Legend states={run.bars.map((one) => one.state)} />
        </div>
    );
}

function shownRows(run: GanttShape, toggled: ReadonlySet<string>, isCriticalOnly: boolean): GanttRow[] {
    const rows = ganttRows(run, toggled);
    return isCriticalOnly ? rows.filter((row) => row.isCritical) : rows;
}

const MANY = 200;

function closedAll(run: GanttShape): string[] {
    return run.rows.length > MANY ? [] : run.rows.filter((row) => row.kind === "group").map((row) => row.id);
}

function openedAll(run: GanttShape): string[] {
    return run.rows.length > MANY ? run.rows.filter((row) => row.kind === "group").map((row) => row.id) : [];
}
