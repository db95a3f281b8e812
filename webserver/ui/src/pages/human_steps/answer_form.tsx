import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { queries } from "../../api/queries";
import { Button } from "../../components/button";
import { ErrorNote } from "../../components/notes";
import { ParamField } from "../../forms/param_field";
import { faultOf, paramsOf } from "../../forms/params";
import { answerOf, chosenAfter, type Step } from "./answer";
import styles from "./human_steps.module.css";

/** Options and fields of a question, and the button that answers it. */
export function AnswerForm({ step }: { step: Step }) {
    const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(step.defaults ?? []));
    const [texts, setTexts] = useState<Record<string, string>>({});
    const { body, problems } = answerOf(step, chosen, texts);
    const answer = useMutation({
        mutationFn: () => answered(send(step, body)),
        onSettled: () => queries.invalidateQueries({ queryKey: keys.humanSteps }),
    });
    const refused = answer.error === null ? null : faultOf(answer.error.message);
    const submit = (event: FormEvent) => {
        event.preventDefault();
        answer.mutate();
    };
    const picked = body.chosen_options;
    return (
        <form className={styles.form} onSubmit={submit}>
            <Options step={step} chosen={chosen} onChoose={setChosen} />
            {Object.entries(paramsOf(step.params)).map(([name, param]) => (
                <ParamField
                    key={name}
                    name={name}
                    param={param}
                    text={texts[name]}
                    problem={problems[name] ?? (refused?.name === name ? refused.problem : undefined)}
                    onText={(text) => setTexts((before) => ({ ...before, [name]: text }))}
                />
            ))}
            {answer.error !== null && refused === null && <ErrorNote error={answer.error} />}
            <Button
                type="submit"
                look="main"
                disabled={picked.length === 0 || Object.keys(problems).length > 0 || answer.isPending}
            >
                {picked.length === 0 ? "Choose an answer" : `Answer: ${picked.join(", ")}`}
            </Button>
        </form>
    );
}

interface OptionsProps {
    step: Step;
    chosen: ReadonlySet<string>;
    onChoose: (chosen: ReadonlySet<string>) => void;
}

function Options({ step, chosen, onChoose }: OptionsProps) {
    const name = useId();
    return (
        <fieldset className={styles.options}>
            <legend>{step.multiple ? "Choose one or more" : "Choose one"}</legend>
            {step.options.map((option) => (
                <label key={option} data-chosen={chosen.has(option) || undefined}>
                    <input
                        type={step.multiple ? "checkbox" : "radio"}
                        name={name}
                        checked={chosen.has(option)}
                        onChange={() => onChoose(chosenAfter(chosen, option, step.multiple))}
                    />
                    {option}
                </label>
            ))}
        </fieldset>
    );
}

function send(step: Step, body: ReturnType<typeof answerOf>["body"]) {
    return api.PATCH("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/{map_index}/hitlDetails", {
        params: {
            path: {
                dag_id: step.dag_id,
                dag_run_id: step.run_id,
                task_id: step.task_id,
                map_index: step.map_index,
            },
        },
        body,
    });
}
