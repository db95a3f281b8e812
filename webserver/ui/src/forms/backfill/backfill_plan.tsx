import { Moment } from "../../components/clock";
import styles from "../forms.module.css";
import { countOf } from "./wish";

type Planned = { logical_date: string | null; action: string; reason: string };
/** How many dates are listed; a longer list is told by its number. */
const MOST = 200;

/** In the words of the sum above the list. */
const ACTIONS: Record<string, string> = {
    create: "gets a run",
    rerun: "has its run cleared",
    skip: "is passed over",
};

/** What a backfill would do with each logical date. */
export function BackfillPlan({ planned }: { planned: readonly Planned[] }) {
    const count = countOf(planned);
    return (
        <>
            <p className={styles.will}>
                {planned.length} {planned.length === 1 ? "date" : "dates"} in this range: {count} get a run,{" "}
                {planned.length - count} are passed over.
            </p>
            <ul className={styles.list}>
                {planned.slice(0, MOST).map((one) => (
                    <li key={one.logical_date}>
                        <Moment at={one.logical_date} /> <span>{ACTIONS[one.action] ?? one.action}</span>
                        <small className={styles.quiet}>{one.reason}</small>
                    </li>
                ))}
                {planned.length > MOST && <li>and {planned.length - MOST} more</li>}
            </ul>
        </>
    );
}
