import { useMemo } from "react";
import { Link, useSearchParams } from "react-router";
import { EmptyNote } from "../../components/notes";
import { StateSign } from "../../components/state";
import { Log } from "./log/index";
import type { Attempt, Instance, InstanceName } from "./shape";
import styles from "./task.module.css";

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
            <EmptyNote title="Not started yet">
                <p>The log appears here when the first attempt begins.</p>
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
                            to={{ search: `?try=${attempt.try_number}` }}
                            aria-current={attempt.try_number === chosen ? "page" : undefined}
                        >
                            <StateSign state={stateOf(attempt, instance, newest)} /> Try {attempt.try_number}
                        </Link>
                    ))}
                </nav>
            )}
            <Log key={chosen} address={log} />
        </>
    );
}

function stateOf(attempt: Attempt, instance: Instance, newest: number): string {
    return attempt.outcome ?? (attempt.try_number === newest ? instance.state : "none");
}
