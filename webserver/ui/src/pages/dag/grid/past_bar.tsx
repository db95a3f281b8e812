import { type ChangeEvent, useState } from "react";
import { Button } from "../../../components/button";
import { useZone } from "../../../components/clock";
import { Field } from "../../../components/field";
import { useAddress } from "../use_address";
import { gridFilterOf, readIn, writtenIn } from "./past";
import styles from "./past_bar.module.css";

/** Chooses from where one looks back: from the newest run, or from a minute of the past. The choice stands in the address. */
export function PastBar() {
    const zone = useZone();
    const [address, change] = useAddress();
    const { until } = gridFilterOf(address);
    const shown = writtenIn(zone, until);
    // What is half written stays in the field, and another address or zone comes into it.
    const [{ from, written }, write] = useState({ from: shown, written: shown });
    if (from !== shown) write({ from: shown, written: shown });
    const isPast = until !== undefined;
    const read = ({ target }: ChangeEvent<HTMLInputElement>) => {
        write({ from: shown, written: target.value });
        const wanted = readIn(zone, target.value);
        const isCleared = target.value === "" && !target.validity.badInput;
        // The way back leads from the past to the newest, and not through every figure that was typed.
        if (wanted !== null || isCleared) change({ until: wanted }, { keep: !isPast });
    };
    return (
        <div className={styles.past}>
            <Field label={`Runs until (${zone})`} type="datetime-local" value={written} onChange={read} />
            {isPast && <Button onClick={() => change({ until: null }, { keep: true })}>Newest</Button>}
        </div>
    );
}
