import { Link } from "react-router";
import { may, useMe } from "../../api/rights";
import { FromNow, Moment } from "../../components/clock";
import { Fact, Facts } from "../../components/facts";
import { JsonView } from "../../components/json_view";
import { dagPath, runPath, taskPath } from "../../components/links";
import { Markdown } from "../../components/markdown";
import { Panel } from "../../components/page";
import { assigneesOf, isAsked, type Step } from "./answer";
import { AnswerForm } from "./answer_form";
import styles from "./human_steps.module.css";

/** One question: who asks what, until when, and the answer or the form for it. */
export function StepCard({ step }: { step: Step }) {
    const me = useMe();
    const assignees = assigneesOf(step);
    return (
        <Panel title={step.subject} label={`${step.subject} ${nameOf(step)}`}>
            <p className={styles.from}>
                <Link to={dagPath(step.dag_id)}>{step.dag_name}</Link>
                <Link to={runPath(step.dag_id, step.run_id)}>{step.run_id}</Link>
                <Link to={taskPath(step.dag_id, step.run_id, step.task_id, step.map_index)}>{step.task_id}</Link>
            </p>
            {step.body !== null && step.body !== "" && <Markdown text={step.body} />}
            <Facts>
                {step.asked_at !== null && (
                    <Fact name="Asked">
                        <FromNow at={step.asked_at} isPast />
                    </Fact>
                )}
                {step.answered_at === null && step.due_at !== null && (
                    <Fact name="Wanted">
                        <FromNow at={step.due_at} />
                        {step.defaults !== null && `, or else: ${step.defaults.join(", ")}`}
                    </Fact>
                )}
                <Fact name="May answer">
                    {assignees.length === 0 ? "everybody who may edit the run" : assignees.join(", ")}
                </Fact>
            </Facts>
            {step.answered_at !== null && <Answer step={step} />}
            {step.answered_at === null && <FormOrReason step={step} mayEdit={may(me, "edit runs", step.dag_id)} />}
        </Panel>
    );
}

/** Return what tells a question from others of the same subject. */
function nameOf({ dag_id, run_id, task_id, map_index }: Step): string {
    return [dag_id, run_id, task_id, ...(map_index < 0 ? [] : [map_index])].join(", ");
}

function FormOrReason({ step, mayEdit }: { step: Step; mayEdit: boolean }) {
    const me = useMe();
    if (!mayEdit) return <p className={styles.soft}>Your role does not allow to answer it.</p>;
    if (!isAsked(step, me.username)) return <p className={styles.soft}>Others were asked.</p>;
    return <AnswerForm step={step} />;
}

function Answer({ step }: { step: Step }) {
    return (
        <>
            <p>
                <b>{step.chosen?.join(", ")}</b>{" "}
                {step.timed_out
                    ? "by default, nobody having answered in time,"
                    : `by ${step.answered_by ?? "somebody"},`}{" "}
                <Moment at={step.answered_at} />
            </p>
            {step.given !== null && Object.keys(step.given).length > 0 && <JsonView value={step.given} />}
        </>
    );
}
