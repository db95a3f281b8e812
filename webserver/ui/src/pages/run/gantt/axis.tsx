import type { RefObject } from "react";
import type { Tick } from "../../../charts/time_axis";
import styles from "./gantt.module.css";
import type { Window } from "./zoom";

interface TimesProps {
    ticks: readonly Tick[];
    place: (at: number) => number;
    /** What is being chosen with the pointer. */
    chosen: Window | null;
}

/** The times above the chart. */
export function Axis({
    ticks,
    place,
    chosen,
    zone,
    axis,
}: TimesProps & { zone: string; axis: RefObject<HTMLDivElement | null> }) {
    return (
        <>
            <div className={styles.corner}>Tasks · times in {zone}</div>
            <div ref={axis} className={styles.axis}>
                {ticks.map((tick) => (
                    <span key={tick.at} style={{ left: `${place(tick.at)}%` }}>
                        {tick.label}
                    </span>
                ))}
                <Chosen chosen={chosen} place={place} />
            </div>
        </>
    );
}

/** The lines below the times, the expected end, and what is being chosen. */
export function Lines({ ticks, place, chosen, eta }: TimesProps & { eta: number | null }) {
    return (
        <>
            {ticks.map((tick) => (
                <i key={tick.at} className={styles.line} style={{ left: `${place(tick.at)}%` }} />
            ))}
            {eta !== null && <i className={styles.eta} title="expected end" style={{ left: `${place(eta)}%` }} />}
            <Chosen chosen={chosen} place={place} />
        </>
    );
}

function Chosen({ chosen, place }: Omit<TimesProps, "ticks">) {
    if (chosen === null) return null;
    const left = place(chosen.from);
    return <i className={styles.chosen} style={{ left: `${left}%`, width: `${place(chosen.to) - left}%` }} />;
}
