import styles from "./actions.module.css";

interface ChoiceProps<Name extends string> {
    legend: string;
    /** Each name with its words. */
    names: readonly (readonly [Name, string])[];
    chosen: Record<Name, boolean>;
    onChange: (name: Name, on: boolean) => void;
}

/** Boxes to tick, of which any number may be. */
export function Choices<Name extends string>({ legend, names, chosen, onChange }: ChoiceProps<Name>) {
    return (
        <fieldset className={styles.choices}>
            <legend>{legend}</legend>
            {names.map(([name, words]) => (
                <label key={name}>
                    <input
                        type="checkbox"
                        checked={chosen[name]}
                        onChange={(event) => onChange(name, event.target.checked)}
                    />
                    {words}
                </label>
            ))}
        </fieldset>
    );
}

export const AROUND_NAMES = [
    ["upstream", "Tasks upstream"],
    ["downstream", "Tasks downstream"],
    ["past", "Earlier runs"],
    ["future", "Later runs"],
] as const;

/** How tasks and runs are cleared. */
export const HOW_NAMES = [
    ["onlyFailed", "Only what failed"],
    ["latestVersion", "With the newest version of the DAG"],
] as const;
