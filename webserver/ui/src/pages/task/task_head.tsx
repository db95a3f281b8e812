import { Link } from "react-router";
import { TaskActions } from "../../actions/task_actions";
import { Moment, Took } from "../../components/clock";
import { Crumbs } from "../../components/crumbs";
import { Fact, Facts } from "../../components/facts";
import { dagPath, runPath, taskPath } from "../../components/links";
import { PageHead } from "../../components/page";
import { State } from "../../components/state";
import { WhyNote } from "../../components/why_note";
import { type Instance, type InstanceName, labelOf } from "./shape";
import styles from "./task.module.css";

/** What the task instance is, in which state, why, and what can be done with it. */
export function TaskHead({ name, instance }: { name: InstanceName; instance: Instance }) {
    const { dagId, runId, taskId, mapIndex } = name;
    const title = labelOf(taskId, mapIndex, instance.rendered_map_index);
    const failure = instance.attempts.at(-1)?.error;
    return (
        <div className={styles.head}>
            <Crumbs
                crumbs={[
                    { to: dagPath(dagId), label: dagId },
                    { to: runPath(dagId, runId), label: runId },
                    ...(mapIndex < 0 ? [] : [{ to: taskPath(dagId, runId, taskId), label: taskId }]),
                ]}
            />
            <PageHead title={title} actions={<TaskActions {...name} />}>
                <State state={instance.state} />
            </PageHead>
            <Facts>
                <Fact name="Started">
                    <Moment at={instance.started_at} />
                </Fact>
                <Fact name="Took">
                    <Took from={instance.started_at} to={instance.ended_at} />
                </Fact>
                <Fact name="Try">
                    {instance.try_number} of {instance.max_tries + 1}
                </Fact>
                <Fact name="Operator">{instance.operator}</Fact>
                <Fact name="Pool">
                    {instance.pool}
                    {instance.pool_slots === 1 ? "" : `, ${instance.pool_slots} slots`}
                </Fact>
                {instance.hostname !== null && <Fact name="Host">{instance.hostname}</Fact>}
            </Facts>
            {instance.why !== null && <WhyNote why={instance.why} />}
            <OperatorLinks links={instance.links} />
            {failure != null && instance.state !== "success" && !isToldIn(instance.why, failure) && (
                <Failure error={failure} />
            )}
            {instance.note !== null && (
                <p className={styles.note}>
                    {instance.note} <Link to="?tab=details">Edit</Link>
                </p>
            )}
        </div>
    );
}

/** Pages elsewhere that the operator knows of; those that no attempt has made yet are named only. */
function OperatorLinks({ links }: { links: Instance["links"] }) {
    if (links.length === 0) return null;
    return (
        <p className={styles.links}>
            {links.map((link) =>
                link.url === null ? (
                    <span key={link.name} className={styles.soft} title="Known when the attempt has ended">
                        {link.name}
                    </span>
                ) : (
                    <a key={link.name} href={link.url} target="_blank" rel="noopener noreferrer">
                        {link.name} <span aria-hidden="true">↗</span>
                    </a>
                ),
            )}
        </p>
    );
}

/** Whether the reason above has the error's message in it already. */
function isToldIn(why: Instance["why"], error: Record<string, unknown>): boolean {
    return why !== null && typeof error.message === "string" && why.sentence.includes(error.message);
}

function Failure({ error }: { error: Record<string, unknown> }) {
    const kind = typeof error.type === "string" ? error.type : error.kind;
    return (
        <p className={styles.failure}>
            <b>{String(kind ?? "It failed")}</b> {String(error.message ?? "")}
        </p>
    );
}
