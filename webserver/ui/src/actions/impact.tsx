import { State, StateCounts, wordsOf } from "../components/state";
import styles from "./actions.module.css";
import { counted, type RunOfChanges } from "./bodies";

/** Tasks of a run that are listed by name; of more, the number is told. */
const LISTED = 30;

/** Exactly what an action would change, by run and task. */
export function Impact({ runs, none }: { runs: readonly RunOfChanges[]; none: string }) {
    if (runs.length === 0) return <p>{none}</p>;
    return runs.map((run) => (
        <section key={run.runId} className={styles.run} aria-label={`Run ${run.runId}`}>
            <h3>
                {run.runId} <small>{counted(run.count, "task instance")}</small>
            </h3>
            <ul>
                {run.tasks.slice(0, LISTED).map((task) => (
                    <li key={`${task.taskId}/${task.action}`}>
                        <span>
                            {task.taskId}
                            {task.count > 1 && ` (${task.count.toLocaleString("en")} instances)`}
                            {endOf(task.action)}
                        </span>
                        <States states={task.states} />
                    </li>
                ))}
                {run.tasks.length > LISTED && <li>and {counted(run.tasks.length - LISTED, "more task")}</li>}
            </ul>
        </section>
    ));
}

/** In which state one instance is, in words; of several, how many are in which. */
function States({ states }: { states: Record<string, number> }) {
    const [[state, count] = ["none", 0], ...others] = Object.entries(states);
    return count === 1 && others.length === 0 ? <State state={state} /> : <StateCounts counts={states} />;
}

const ACTIONS: Record<string, string> = { "": "", clear: "", add: " is added", remove: " is removed" };

/** What becomes of a task; what is no action is the state that it will be in. */
function endOf(action: string): string {
    return ACTIONS[action] ?? ` ends as ${wordsOf(action)}`;
}
