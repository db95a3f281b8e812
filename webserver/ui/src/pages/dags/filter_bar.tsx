import { useEffect, useState } from "react";
import { useSearchParams } from "react-router";
import type { Got } from "../../api/client";
import styles from "./dags.module.css";
import { type Filters, LABELS, SHOWN } from "./filters";

/** What of the list is shown; every choice is in the address. */
export function FilterBar({ filters, counts }: { filters: Filters; counts: Got<"/ui/dags/counts"> | undefined }) {
    const [, setAddress] = useSearchParams();
    const set = (name: string, values: string[]) =>
        setAddress(
            (before) => {
                before.delete(name);
                for (const value of values.filter(Boolean)) before.append(name, value);
                return before;
            },
            { replace: true },
        );
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
            <Search
                key={filters.search === "" ? "empty" : "filled"}
                text={filters.search}
                onText={(text) => set("search", [text])}
            />
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

function Search({ text, onText }: { text: string; onText: (text: string) => void }) {
    const [typed, setTyped] = useState(text);
    // A search for each letter would only be thrown away.
    useEffect(() => {
        if (typed === text) return;
        const timer = setTimeout(() => onText(typed), 200);
        return () => clearTimeout(timer);
    }, [typed, text, onText]);
    return (
        <input
            type="search"
            aria-label="Search DAGs"
            placeholder="Search name or description"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
        />
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
