import { Link } from "react-router";
import { NoteEditor } from "../../actions/note_editor";
import { answered, api } from "../../api/client";
import { Moment } from "../../components/clock";
import { Fact, Facts } from "../../components/facts";
import { taskPath } from "../../components/links";
import { Markdown } from "../../components/markdown";
import { Panel } from "../../components/page";
import { State, StateCounts, wordsOf } from "../../components/state";
import { type Instance, type InstanceName, instanceKey } from "./shape";
import styles from "./task.module.css";

/** What else is known: neighbours, note, settings, moments, and what the DAG's author wrote about the task. */
export function Details({ name, instance }: { name: InstanceName; instance: Instance }) {
    const path = { dag_id: name.dagId, dag_run_id: name.runId, task_id: name.taskId, map_index: name.mapIndex };
    const save = (note: string | null) =>
        answered(
            api.PATCH("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/{map_index}", {
                params: { path, query: { update_mask: ["note"] } },
                body: { note },
            }),
        );
    return (
        <div className={styles.panels}>
            <Panel title="Note">
                <NoteEditor dagId={name.dagId} note={instance.note} save={save} stale={instanceKey(name)} />
            </Panel>
            <Panel title="Waits for">
                <Neighbours name={name} tasks={instance.upstream} none="It waits for no task." />
                {instance.trigger_rule !== null && (
                    <p className={styles.soft}>Trigger rule: {wordsOf(instance.trigger_rule)}</p>
                )}
            </Panel>
            <Panel title="Waited for by">
                <Neighbours name={name} tasks={instance.downstream} none="No task waits for it." />
            </Panel>
            <Panel title="Settings">
                <Facts>
                    <Fact name="Queue">{instance.queue}</Fact>
                    <Fact name="Executor">{instance.executor ?? "the default one"}</Fact>
                    <Fact name="Priority">{instance.priority_weight}</Fact>
                    <Fact name="DAG version">{instance.version_number}</Fact>
                </Facts>
            </Panel>
            <Panel title="Moments">
                <Facts>
                    <Fact name="Scheduled">
                        <Moment at={instance.scheduled_at} />
                    </Fact>
                    <Fact name="Queued">
                        <Moment at={instance.queued_at} />
                    </Fact>
                    <Fact name="Ended">
                        <Moment at={instance.ended_at} />
                    </Fact>
                    <Fact name="Next try">
                        <Moment at={instance.next_retry_at} />
                    </Fact>
                </Facts>
            </Panel>
            {instance.doc_md !== null && (
                <Panel title="About the task">
                    <Markdown text={instance.doc_md} />
                </Panel>
            )}
        </div>
    );
}

interface NeighboursProps {
    name: InstanceName;
    tasks: Instance["upstream"];
    none: string;
}

function Neighbours({ name, tasks, none }: NeighboursProps) {
    if (tasks.length === 0) return <p className={styles.soft}>{none}</p>;
    return (
        <ul className={styles.neighbours}>
            {tasks.map((task) => (
                <li key={task.task_id}>
                    <Link to={taskPath(name.dagId, name.runId, task.task_id)}>{task.task_id}</Link>
                    {Object.values(task.counts).reduce((sum, count) => sum + count, 0) > 1 ? (
                        <StateCounts counts={task.counts} />
                    ) : (
                        <State state={task.state ?? "none"} />
                    )}
                </li>
            ))}
        </ul>
    );
}
