import { useCallback } from "react";
import { useSearchParams } from "react-router";
import type { Got } from "../../api/client";
import { SearchBox } from "../../components/search_box";
import styles from "./dags.module.css";
import { type Filters, LABELS, RUN_STATES, SHOWN } from "./filters";

/** What of the list is shown; every choice is in the address. */
export function FilterBar({ filters, counts }: { filters: Filters; counts: Got<"/ui/dags/counts"> | undefined }) {
    const [, setAddress] = useSearchParams();
    const set = useCallback(
        (name: string, values: string[]) =>
            setAddress(
                (before) => {
                    before.delete(name);
                    for (const value of values.filter(Boolean)) before.append(name, value);
                    return before;
                },
                { replace: true },
            ),
        [setAddress],
    );
    const setSearch = useCallback((text: string) => set("search", [text]), [set]);
    return (
        <div className={styles.filters}>
            <fieldset className={styles.tabs} aria-label="Which DAGs">
                {SHOWN.map((one) => (
                    <button
                        key={one}
                        type="button"
                        aria-pressed={one === filters.shown}
                        onClick={() => set("show", [one === "all" ? "" : one])}
                    >
                        {LABELS[one]} <small>{counts?.[one]}</small>
                    </button>
                ))}
            </fieldset>
            <SearchBox label="Search DAGs" text={filters.search} onText={setSearch} />
            <Choice
                label="Tag"
                words={counts?.tags ?? []}
                chosen={filters.tags}
                onChosen={(tags) => set("tag", tags)}
            />
            <Choice
                label="Owner"
                words={counts?.owners ?? []}
                chosen={filters.owners}
                onChosen={(owners) => set("owner", owners)}
            />
            <select
                aria-label="Last run"
                value={filters.lastRun ?? ""}
                onChange={(event) => set("last_run", [event.target.value])}
            >
                <option value="">Last run</option>
                {RUN_STATES.map((state) => (
                    <option key={state} value={state}>
                        {`last run ${state}`}
                    </option>
                ))}
            </select>
            <select
                aria-label="Order"
                value={filters.order}
                onChange={(event) => set("order", [event.target.value === "dag_id" ? "" : event.target.value])}
            >
                <option value="dag_id">By name</option>
                <option value="-dag_id">By name, from Z</option>
                <option value="next_run_at">By next run</option>
            </select>
        </div>
    );
}

interface ChoiceProps {
    label: string;
    words: readonly string[];
    chosen: readonly string[];
    onChosen: (chosen: string[]) => void;
}

function Choice({ label, words, chosen, onChosen }: ChoiceProps) {
    return (
        <>
            <select aria-label={label} value="" onChange={(event) => onChosen([...chosen, event.target.value])}>
                <option value="">{label}</option>
                {words
                    .filter((word) => !chosen.includes(word))
                    .map((word) => (
                        <option key={word}>{word}</option>
                    ))}
            </select>
            {chosen.map((word) => (
                <button
                    key={word}
                    type="button"
                    className={styles.chosen}
                    title={`Take ${label.toLowerCase()} ${word} away`}
                    onClick={() => onChosen(chosen.filter((one) => one !== word))}
                >
                    {word} ×
                </button>
            ))}
        </>
    );
}
