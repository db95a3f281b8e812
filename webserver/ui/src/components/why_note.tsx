import { Link, useLocation } from "react-router";
import { FromNow } from "./clock";
import { dagPath, runPath, taskPath } from "./links";
import styles from "./why_note.module.css";

interface Why {
    reason: string;
    sentence: string;
    blocked_by: { kind: string; id: string } | null;
    until: string | null;
}

/** Why something does not run, in the server's sentence, with a way to what stands in the way. */
export function WhyNote({ why }: { why: Why }) {
    const { pathname } = useLocation();
    const path = why.blocked_by === null ? null : blockerPath(why.blocked_by.kind, why.blocked_by.id);
    // What stands in its own way, such as a task that runs, needs no way to itself.
    const to = path !== null && decodeURI(path) === decodeURI(pathname) ? null : path;
    return (
        <p className={styles.why} role="note" aria-label="Why it is not running">
            <span>{why.sentence}</span>
            {why.until !== null && (
                <span className={styles.until}>
                    Goes on <FromNow at={why.until} />
                </span>
            )}
            {why.reason === "answer" && <Link to="/human-steps">Answer it</Link>}
            {to !== null && why.blocked_by !== null && (
                <Link to={to}>{blockerName(why.blocked_by.kind, why.blocked_by.id)}</Link>
            )}
        </p>
    );
}

/** Return what the way to what stands in the way is called: a task by its name, so that one knows where one goes. */
function blockerName(kind: string, id: string): string {
    const [, , taskId, mapIndex] = id.split("/");
    if (kind !== "task_instance" || taskId === undefined) return `Go to the ${kind.replaceAll("_", " ")}`;
    return `Go to ${mapIndex === undefined ? taskId : `${taskId} [${mapIndex}]`}`;
}

/** Return the page of what stands in the way, where there is one. Parts of ids are parted by slashes. */
export function blockerPath(kind: string, id: string): string | null {
    const [dagId = "", runId = "", ...task] = id.split("/");
    if (kind === "dag") return dagPath(id);
    if (kind === "dag_run" && runId !== "") return runPath(dagId, [runId, ...task].join("/"));
    if (kind === "task_instance" && task.length > 0) {
        const [taskId = "", mapIndex] = task;
        return taskPath(dagId, runId, taskId, mapIndex === undefined ? -1 : Number(mapIndex));
    }
    if (kind === "asset") return "/assets";
    return null;
}
