import { useCallback } from "react";
import { useSearchParams } from "react-router";
import styles from "../../components/filters.module.css";
import { SearchBox } from "../../components/search_box";
import { type RunFilters, STATES, TYPES } from "./filters";

/** Which runs are shown; every choice is in the address. */
export function RunFilterBar({ filters }: { filters: RunFilters }) {
    const [, setAddress] = useSearchParams();
    const set = useCallback(
        (name: string, value: string) =>
            setAddress(
                (before) => {
                    before.delete(name);
                    if (value !== "") before.set(name, value);
                    return before;
                },
                { replace: true },
            ),
        [setAddress],
    );
    const setSearch = useCallback((text: string) => set("search", text), [set]);
    const setDag = useCallback((text: string) => set("dag", text), [set]);
    return (
        <div className={styles.filters}>
            <Choice label="State" words={STATES} chosen={filters.state} onChosen={(word) => set("state", word)} />
            <Choice label="Made by" words={TYPES} chosen={filters.type} onChosen={(word) => set("type", word)} />
            <SearchBox label="DAG id" text={filters.dag} onText={setDag} />
            <SearchBox label="Search run ids" text={filters.search} onText={setSearch} />
            {(["since", "until"] as const).map((name) => (
                <label key={name}>
                    {name === "since" ? "From" : "To"}
                    <input type="date" value={filters[name]} onChange={(event) => set(name, event.target.value)} />
                </label>
            ))}
        </div>
    );
}

interface ChoiceProps {
    label: string;
    words: readonly string[];
    chosen: string | null;
    onChosen: (word: string) => void;
}

function Choice({ label, words, chosen, onChosen }: ChoiceProps) {
    return (
        <select aria-label={label} value={chosen ?? ""} onChange={(event) => onChosen(event.target.value)}>
            <option value="">{`${label}: any`}</option>
            {words.map((word) => (
                <option key={word} value={word}>
                    {word.replaceAll("_", " ")}
                </option>
            ))}
        </select>
    );
}
