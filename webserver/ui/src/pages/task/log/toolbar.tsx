import { Button } from "../../../components/button";
import { Select } from "../../../components/field";
import { SearchField } from "../../../components/search_field";
import { Switch } from "../../../components/switch";
import styles from "./log.module.css";
import type { LogFacts } from "./log_lines";
import { placeAfter } from "./matches";
import type { Found } from "./search";

export const LEVELS: Record<string, { words: string; levels: string[] }> = {
    warnings: { words: "Warnings and errors", levels: ["warning", "error", "critical"] },
    errors: { words: "Errors only", levels: ["error", "critical"] },
};

interface ToolbarProps {
    facts: LogFacts | null;
    words: string;
    onWords: (words: string) => void;
    level: string;
    onLevel: (level: string) => void;
    found: Found;
    /** The line that one stands on. */
    line: number | null;
    onStep: (isBack: boolean) => void;
    wraps: boolean;
    onWraps: (wraps: boolean) => void;
}

/** Search, filter and look of the log. */
export function Toolbar(props: ToolbarProps) {
    const { facts, words, level, found } = props;
    return (
        <div className={styles.toolbar}>
            <search className={styles.search}>
                <SearchField
                    label="Search"
                    text={words}
                    placeholder="Words in the whole log"
                    onText={props.onWords}
                    onEnter={(event) => props.onStep(event.shiftKey)}
                />
                {words !== "" && (
                    <>
                        <output aria-live="polite">{countOf(found, props.line)}</output>
                        <Button look="quiet" aria-label="Previous match" onClick={() => props.onStep(true)}>
                            ↑
                        </Button>
                        <Button look="quiet" aria-label="Next match" onClick={() => props.onStep(false)}>
                            ↓
                        </Button>
                    </>
                )}
            </search>
            <Select label="Show" value={level} onChange={(event) => props.onLevel(event.target.value)}>
                <option value="">All lines</option>
                {Object.entries(LEVELS).map(([name, one]) => (
                    <option key={name} value={name}>
                        {one.words}
                        {facts === null ? "" : ` (${numberOf(name, facts)})`}
                    </option>
                ))}
            </Select>
            <span className={styles.wrap}>
                <Switch label="Wrap long lines" on={props.wraps} onChange={props.onWraps} />
                <span aria-hidden="true">Wrap</span>
            </span>
        </div>
    );
}

function numberOf(level: string, facts: LogFacts): number {
    const errors = facts.counts.error ?? 0;
    return level === "errors" ? errors : errors + (facts.counts.warning ?? 0);
}

function countOf(found: Found, line: number | null): string {
    const count = found.numbers.length;
    if (count === 0) return found.isSearching ? "…" : "Nothing found";
    const all = `${count.toLocaleString("en")}${found.isComplete ? "" : "+"}`;
    const at = line === null ? 0 : placeAfter(found.numbers, line);
    return at > 0 && found.numbers[at - 1] === line ? `${at.toLocaleString("en")} of ${all}` : `${all} found`;
}
