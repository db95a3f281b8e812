import { Link } from "react-router";
import { Moment, Took, useNow } from "../../components/clock";
import { EmptyNote } from "../../components/notes";
import { State } from "../../components/state";
import { type Column, Table } from "../../components/table";
import { lengthOf, secondsBetween } from "../../components/times";
import { sizeOf } from "./log/footer";
import { type Attempt, errorWords } from "./shape";
import styles from "./task.module.css";

const COLUMNS: Column<Attempt>[] = [
    {
        head: "Try",
        cell: (one) => <Link to={`?try=${one.try_number}`}>{one.try_number}</Link>,
        isNumber: true,
    },
    { head: "Outcome", cell: (one) => <State state={one.outcome ?? "running"} /> },
    { head: "Queued", cell: (one) => <Moment at={one.queued_at} /> },
    { head: "Waited", cell: (one) => <Took from={one.queued_at} to={one.started_at} />, isNumber: true },
    { head: "Ran", cell: (one) => <Took from={one.started_at} to={one.ended_at} />, isNumber: true },
    {
        head: "Peak memory",
        cell: (one) => (one.peak_rss_bytes === null ? "–" : sizeOf(one.peak_rss_bytes)),
        isNumber: true,
    },
    { head: "CPU time", cell: (one) => (one.cpu_seconds === null ? "–" : lengthOf(one.cpu_seconds)), isNumber: true },
    { head: "Ended with", cell: (one) => <span className={styles.end}>{endOf(one)}</span> },
    { head: "Executor", cell: (one) => one.executor, isWide: true },
    {
        head: "Host, process",
        cell: (one) => (one.hostname === null ? "–" : `${one.hostname}, ${one.pid ?? "–"}`),
        isWide: true,
    },
    { head: "Version", cell: (one) => one.version_number, isNumber: true, isWide: true },
];

/** Every attempt with its times, what it used, and how it ended. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
    if (attempts.length === 0) {
        return (
            <EmptyNote title="No attempt yet">
                <p>Its times, memory and CPU appear here once it has begun.</p>
            </EmptyNote>
        );
    }
    const failed = attempts.filter((one) => typeof one.error?.traceback === "string");
    return (
        <>
            {attempts.length > 1 && <Bars attempts={attempts} />}
            <Table label="Attempts" columns={COLUMNS} rows={attempts} keyOf={(one) => String(one.try_number)} />
            {failed.map((one) => (
                <details key={one.try_number} className={styles.trace} open={failed.length === 1}>
                    <summary>Traceback of try {one.try_number}</summary>
                    <pre>{String(one.error?.traceback)}</pre>
                </details>
            ))}
        </>
    );
}

function endOf(one: Attempt): string {
    if (one.signal !== null) return `signal ${one.signal}`;
    if (one.exit_code !== null) return `exit code ${one.exit_code}`;
    return one.error === null ? "–" : errorWords(one.error);
}

/** When each attempt waited and ran, on one line of time. */
function Bars({ attempts }: { attempts: readonly Attempt[] }) {
    const now = useNow();
    const first = attempts[0]?.queued_at ?? null;
    const whole = Math.max(0.001, ...attempts.map((one) => secondsBetween(first, one.ended_at, now) ?? 0));
    return (
        <div className={styles.bars} aria-hidden="true">
            {attempts.map((one) => {
                const left = secondsBetween(first, one.queued_at, now) ?? 0;
                const waited = secondsBetween(one.queued_at, one.started_at ?? one.ended_at, now) ?? 0;
                const ran = secondsBetween(one.started_at, one.ended_at, now) ?? 0;
                return (
                    <div key={one.try_number} title={`Try ${one.try_number}: striped while it waited`}>
                        <span>Try {one.try_number}</span>
                        <p>
                            <i data-waits="" style={placeOf(left, waited, whole)} />
                            <i data-state={one.outcome ?? "running"} style={placeOf(left + waited, ran, whole)} />
                        </p>
                    </div>
                );
            })}
        </div>
    );
}

function placeOf(from: number, length: number, whole: number) {
    return { left: `${(100 * from) / whole}%`, width: `max(2px, ${(100 * length) / whole}%)` };
}
