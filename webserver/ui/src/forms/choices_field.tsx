import styles from "./forms.module.css";
import { chosenIn, toggledIn } from "./params";

interface ChoicesFieldProps {
    label: string;
    hint: string | undefined;
    problem: string | undefined;
    choices: readonly unknown[];
    /** The chosen ones as JSON. */
    value: string;
    onText: (text: string) => void;
}

/** Any number of several, each with a box to tick. */
export function ChoicesField({ label, hint, problem, choices, value, onText }: ChoicesFieldProps) {
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
                                checked={chosen.has(word)}
                                onChange={() => onText(toggledIn(choices, value, word))}
                            />
                            {String(one)}
                        </label>
                    );
                })}
            </div>
            {(problem ?? hint) !== undefined && (
                <small className={problem === undefined ? undefined : styles.problem}>{problem ?? hint}</small>
            )}
        </fieldset>
    );
}
