import { memo, useState } from "react";
import { Link } from "react-router";
import { PointerCard } from "../../../charts/pointer_card";
import { Moment } from "../../../components/clock";
import { taskPath } from "../../../components/links";
import { colourOf, State, signOf, wordsOf } from "../../../components/state";
import { lengthOf } from "../../../components/times";
import styles from "./gantt.module.css";
import { type Attempt, envelopeOf, type GanttRow, type GanttShape, type Span, spanOf } from "./model";

interface TrackProps {
    run: GanttShape;
    row: GanttRow;
    now: number;
    place: (at: number) => number;
}

/** The bars of one row. */
export const Track = memo(function Track({ run, row, now, place }: TrackProps) {
    const [pointed, setPointed] = useState<{ attempt: Attempt; x: number; y: number } | null>(null);
    const isSum = row.kind === "group" || row.canOpen;
    const never = row.attempts.filter((one) => spanOf(one, now) === null);
    const all = isSum ? envelopeOf(row.attempts, now) : null;
    return (
        // The card follows the pointer; each bar says the same in its label.
        <div
            className={styles.track}
            data-group={row.kind === "group" || undefined}
            onPointerLeave={() => setPointed(null)}
        >
            {all !== null && (
                <Sum row={row} from={place(all.from)} to={place(all.to)} seconds={(all.to - all.from) / 1000} />
            )}
            {!(row.kind === "group" || (row.canOpen && row.isOpen)) &&
                row.attempts.map((attempt) => {
                    const span = spanOf(attempt, now);
                    return span === null ? null : (
                        // A try that was put off and went on has several bars.
                        <Bar
                            key={`${attempt.map_index} ${attempt.try_number} ${span.waited} ${span.started}`}
                            run={run}
                            attempt={attempt}
                            span={span}
                            isCritical={row.isCritical}
                            isThin={row.canOpen}
                            place={place}
                            onPoint={setPointed}
                        />
                    );
                })}
            {!isSum && never.length > 0 && row.attempts.length === never.length && (
                <span className={styles.never}>{wordsOf(never[0]?.state ?? "none")}</span>
            )}
            {pointed !== null && (
                <PointerCard x={pointed.x} y={pointed.y}>
                    <Told attempt={pointed.attempt} now={now} />
                </PointerCard>
            )}
        </div>
    );
});

interface BarProps {
    run: GanttShape;
    attempt: Attempt;
    span: Span;
    isCritical: boolean;
    isThin: boolean;
    place: (at: number) => number;
    onPoint: (pointed: { attempt: Attempt; x: number; y: number }) => void;
}

function Bar({ run, attempt, span, isCritical, isThin, place, onPoint }: BarProps) {
    const [left, right] = [place(span.waited), place(span.ended)];
    const width = Math.max(right - left, 0.15);
    const runs =
        span.started === null ? 0 : (100 * (span.ended - span.started)) / Math.max(1, span.ended - span.waited);
    const words = labelOf(attempt, span);
    return (
        <Link
            className={styles.bar}
            data-critical={isCritical || undefined}
            data-thin={isThin || undefined}
            to={`${taskPath(run.dag_id, run.run_id, attempt.task_id, attempt.map_index)}?try=${attempt.try_number ?? 1}`}
            aria-label={words}
            style={{ left: `${left}%`, width: `${width}%` }}
            onPointerEnter={(event) => onPoint({ attempt, x: event.clientX, y: event.clientY })}
        >
            <i className={styles.wait} />
            <i
                className={styles.ran}
                data-running={attempt.ended_at === null || undefined}
                style={{ width: `${runs}%`, backgroundColor: colourOf(attempt.state) }}
            >
                {attempt.state !== "success" && !isThin && <b>{signOf(attempt.state)}</b>}
            </i>
        </Link>
    );
}

function labelOf(attempt: Attempt, span: Span): string {
    const index = attempt.map_index < 0 ? "" : ` [${attempt.map_index}]`;
    const waited = lengthOf(((span.started ?? span.ended) - span.waited) / 1000);
    const ran = span.started === null ? "has not run" : `ran ${lengthOf((span.ended - span.started) / 1000)}`;
    return `${attempt.task_id}${index}, try ${attempt.try_number ?? 1}: ${wordsOf(attempt.state)}, waited ${waited}, ${ran}`;
}

interface SumProps {
    row: GanttRow;
    from: number;
    to: number;
    seconds: number;
}

/** Of a group or a mapped task: from its first wait to its last end. */
function Sum({ row, from, to, seconds }: SumProps) {
    const words = `${row.id}: ${lengthOf(seconds)} from first to last`;
    return (
        <span
            className={styles.sum}
            data-critical={row.isCritical || undefined}
            role="img"
            aria-label={words}
            title={words}
            style={{ left: `${from}%`, width: `${Math.max(to - from, 0.15)}%` }}
        />
    );
}

function Told({ attempt, now }: { attempt: Attempt; now: number }) {
    const span = spanOf(attempt, now);
    if (span === null) return null;
    return (
        <>
            <strong>
                {attempt.task_id}
                {attempt.map_index < 0 ? "" : ` [${attempt.map_index}]`}, try {attempt.try_number}
            </strong>
            <State state={attempt.state} />
            <dl>
                <dt>Waited</dt>
                <dd>{lengthOf(((span.started ?? span.ended) - span.waited) / 1000)}</dd>
                <dt>Ran</dt>
                <dd>{span.started === null ? "not yet" : lengthOf((span.ended - span.started) / 1000)}</dd>
                <dt>Queued</dt>
                <dd>
                    <Moment at={attempt.queued_at} />
                </dd>
                <dt>Started</dt>
                <dd>
                    <Moment at={attempt.started_at} />
                </dd>
                <dt>Ended</dt>
                <dd>
                    <Moment at={attempt.ended_at} />
                </dd>
                <dt>Pool</dt>
                <dd>{attempt.pool}</dd>
                {attempt.hostname !== null && (
                    <>
                        <dt>Worker</dt>
                        <dd>{attempt.hostname}</dd>
                    </>
                )}
            </dl>
        </>
    );
}
