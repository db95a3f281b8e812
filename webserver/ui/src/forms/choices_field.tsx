import { useId } from "react";
import { useFault } from "../components/refusable";
import styles from "./forms.module.css";
import { chosenIn, toggledIn } from "./params";

interface ChoicesFieldProps {
    name: string;
    label: string;
    hint: string | undefined;
    problem: string | undefined;
    choices: readonly unknown[];
    /** The chosen ones as JSON. */
    value: string;
    onText: (text: string) => void;
}

/** Any number of several, each with a box to tick. */
export function ChoicesField({ name, label, hint, problem: own, choices, value, onText }: ChoicesFieldProps) {
    const id = useId();
    const problem = useFault(name) ?? own;
    const words = problem ?? hint;
    const chosen = chosenIn(value);
    return (
        <fieldset className={styles.choices}>
            <legend>{label}</legend>
            <div>
                {choices.map((one) => {
                    const word = JSON.stringify(one);
                    return (
                        <label key={word}>
                            <input
                                type="checkbox"
                                aria-describedby={words && id}
                                aria-invalid={problem !== undefined}
                                checked={chosen.has(word)}
                                onChange={() => onText(toggledIn(choices, value, word))}
                            />
                            {String(one)}
                        </label>
                    );
                })}
            </div>
            {words !== undefined && (
                <small id={id} className={problem === undefined ? undefined : styles.problem}>
                    {words}
                </small>
            )}
        </fieldset>
    );
}
