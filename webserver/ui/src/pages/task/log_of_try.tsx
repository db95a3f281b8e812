import { useMemo } from "react";
import { Link, useSearchParams } from "react-router";
import { EmptyNote } from "../../components/notes";
import { StateSign, wordsOf } from "../../components/state";
import { lengthOf, secondsBetween } from "../../components/times";
import { Log } from "./log/index";
import { type Attempt, errorWords, type Instance, type InstanceName } from "./shape";
import styles from "./task.module.css";

/** States in which a task ends that never began. */
const NEVER: ReadonlySet<string> = new Set(["upstream_failed", "skipped", "removed", "failed", "success"]);

/** The log of the attempt that the address names; the newest without. */
export function LogOfTry({ name, instance }: { name: InstanceName; instance: Instance }) {
    const [address] = useSearchParams();
    const newest = instance.attempts.at(-1)?.try_number ?? 0;
    const chosen = Number(address.get("try") ?? newest);
    const { dagId, runId, taskId, mapIndex } = name;
    const log = useMemo(
        () => ({ dagId, runId, taskId, mapIndex, tryNumber: chosen }),
        [dagId, runId, taskId, mapIndex, chosen],
    );
    if (newest === 0) {
        return (
            <EmptyNote title={NEVER.has(instance.state) ? "It did not run" : "Not started yet"}>
                <p>
                    {NEVER.has(instance.state)
                        ? "So it has no log. Why is said above; clear it to run it after all."
                        : "The log appears here when the first attempt begins."}
                </p>
            </EmptyNote>
        );
    }
    return (
        <>
            {instance.attempts.length > 1 && (
                <nav className={styles.tries} aria-label="Attempts">
                    {instance.attempts.map((attempt) => (
                        <Link
                            key={attempt.try_number}
                            to={{ search: searchOf(address, attempt.try_number) }}
                            title={wordsFor(attempt, instance.state)}
                            aria-current={attempt.try_number === chosen ? "page" : undefined}
                        >
                            <StateSign state={stateOf(attempt, instance, newest)} /> Try {attempt.try_number}
                        </Link>
                    ))}
                </nav>
            )}
            <Log key={chosen} address={log} stage={`${instance.state} ${instance.attempts.at(-1)?.outcome ?? ""}`} />
        </>
    );
}

/** Return the address of another try, with the same search and look of the log; lines have other numbers there. */
function searchOf(address: URLSearchParams, tryNumber: number): string {
    const next = new URLSearchParams(address);
    for (const name of ["tab", "line"]) next.delete(name);
    next.set("try", String(tryNumber));
    return `?${next}`;
}

/** Return how a try went, where and for how long. */
function wordsFor(attempt: Attempt, state: string): string {
    const host = attempt.hostname === null ? "" : ` on ${attempt.hostname}`;
    const length = lengthOf(secondsBetween(attempt.started_at, attempt.ended_at, Date.now()));
    const error = attempt.error === null ? "" : `: ${errorWords(attempt.error)}`;
    return `${wordsOf(attempt.outcome ?? state)} after ${length}${host}${error}`;
}

function stateOf(attempt: Attempt, instance: Instance, newest: number): string {
    return attempt.outcome ?? (attempt.try_number === newest ? instance.state : "none");
}
