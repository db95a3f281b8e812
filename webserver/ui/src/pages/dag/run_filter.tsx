import { Select } from "../../components/field";
import { StateSign, wordsOf } from "../../components/state";
import { toggledWith } from "./folding";
import styles from "./run_filter.module.css";
import { useAddress } from "./use_address";

/** The states and types of runs, as the documentation has them. */
export const RUN_STATES = ["success", "failed", "running", "queued"] as const;
export const RUN_TYPES = ["scheduled", "manual", "backfill", "asset_triggered"] as const;

export interface RunFilter {
    state: (typeof RUN_STATES)[number][];
    run_type: string[];
}

/** Read which runs the address asks for; words that mean nothing are as if they were not there. */
export function runFilterOf(address: URLSearchParams): RunFilter {
    const states = address.getAll("state");
    return { state: RUN_STATES.filter((one) => states.includes(one)), run_type: address.getAll("type") };
}

/** Chooses runs by state and type; the choice stands in the address. */
export function RunFilterBar() {
    const [address, change] = useAddress();
    const chosen = address.getAll("state");
    return (
        <>
            <fieldset className={styles.states}>
                <legend>Runs that are</legend>
                {RUN_STATES.map((state) => (
                    <button
                        key={state}
                        type="button"
                        aria-pressed={chosen.includes(state)}
                        onClick={() => change({ state: toggledWith(chosen, state) })}
                    >
                        <StateSign state={state} />
                        {wordsOf(state)}
                    </button>
                ))}
            </fieldset>
            <Select
                label="Started by"
                value={address.get("type") ?? ""}
                onChange={(event) => change({ type: event.target.value })}
            >
                <option value="">anything</option>
                {RUN_TYPES.map((type) => (
                    <option key={type} value={type}>
                        {TYPE_WORDS[type]}
                    </option>
                ))}
            </Select>
        </>
    );
}

const TYPE_WORDS: Record<string, string> = {
    scheduled: "the schedule",
    manual: "a person or the API",
    backfill: "a backfill",
    asset_triggered: "assets",
};
