import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Button } from "../../../components/button";
import { useZone } from "../../../components/clock";
import { hasFailed } from "../../../components/failures";
import { ErrorNote, Skeleton } from "../../../components/notes";
import { StateCounts } from "../../../components/state";
import { dateIn } from "../../../components/times";
import { useDag } from "../shape";
import toolbar from "../toolbar.module.css";
import { useAddress } from "../use_address";
import styles from "./calendar.module.css";
import { sumsOf } from "./days";
import { Year } from "./year";

/** A year of the DAG, day by day: how its runs ended, and which are to come. */
export function Component() {
    const { dag_id: dagId } = useDag();
    const zone = useZone();
    const [address, change] = useAddress();
    const today = dateIn(zone, new Date().toISOString());
    const thisYear = Number(today.slice(0, 4));
    const asked = Number(address.get("year"));
    const year = Number.isInteger(asked) && asked > 1900 && asked < 3000 ? asked : thisYear;
    const calendar = useQuery({
        queryKey: keys.dagOverview(dagId, "calendar", year, zone),
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/calendar", {
                    params: {
                        path: { dag_id: dagId },
                        query: { since: `${year}-01-01`, until: `${year}-12-31`, timezone: zone },
                    },
                }),
            ),
        placeholderData: (before) => before,
    });
    if (hasFailed(calendar)) return <ErrorNote error={calendar.error} />;
    const sums = calendar.data === undefined ? undefined : sumsOf(calendar.data.days);
    const go = (to: number) => change({ year: to === thisYear ? null : String(to) }, { keep: true });
    return (
        <div className={toolbar.part}>
            <div className={styles.head}>
                <Button onClick={() => go(year - 1)}>{`‹ ${year - 1}`}</Button>
                <h2>{year}</h2>
                <Button onClick={() => go(year + 1)}>{`${year + 1} ›`}</Button>
                {sums !== undefined && <StateCounts counts={sums.counts} />}
                {sums !== undefined && sums.planned > 0 && <span>the next {sums.planned} are planned</span>}
            </div>
            {calendar.data === undefined ? (
                <Skeleton height="12rem" />
            ) : (
                <Year dagId={dagId} year={year} days={calendar.data.days} today={today} zone={zone} />
            )}
            <Key />
            {calendar.data?.is_schedule_known === false && (
                <p className={styles.note}>
                    The schedule is a timetable of its own: which runs it plans is not known here.
                </p>
            )}
        </div>
    );
}

function Key() {
    return (
        <ul className={styles.key} aria-label="Signs of the calendar">
            <li>
                <i data-kind="success" data-level="1" />
                <i data-kind="success" data-level="3" />
                all succeeded: few, many runs
            </li>
            <li>
                <i data-kind="failed" data-level="1">
                    ✕
                </i>
                <i data-kind="failed" data-level="3">
                    ✕
                </i>
                some, all failed
            </li>
            <li>
                <i data-kind="running" data-level="2">
                    ▸
                </i>
                not ended yet
            </li>
            <li>
                <i data-kind="planned" />
                planned
            </li>
        </ul>
    );
}
