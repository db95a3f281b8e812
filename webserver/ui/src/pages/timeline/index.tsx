import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { Button } from "../../components/button";
import { Select } from "../../components/field";
import { EmptyNote, Skeleton } from "../../components/notes";
import { PageHead } from "../../components/page";
import { QueryError } from "../../components/query_error";
import { SearchField } from "../../components/search_field";
import { useAddress } from "../dag/use_address";
import { Chart } from "./chart";
import { LENGTHS, windowOf } from "./model";
import styles from "./timeline.module.css";

const HOUR = 3_600_000;
const NAMES: Record<number, string> = { 6: "6 hours", 24: "24 hours", 72: "3 days", 168: "7 days" };

/** All DAGs on one line of time: what ran, what held the pools, and what schedules will start. */
export function Component() {
    const [address, change] = useAddress();
    const [opened] = useState(() => Date.now());
    const hours = LENGTHS.find((one) => String(one) === address.get("hours")) ?? 24;
    const at = Date.parse(address.get("at") ?? "") || null;
    const shown = useMemo(() => windowOf(hours, at ?? opened), [hours, at, opened]);
    const search = address.get("q") ?? "";
    const since = new Date(shown.since).toISOString();
    const until = new Date(shown.until).toISOString();
    const timeline = useQuery({
        queryKey: [...keys.timeline, since, until],
        queryFn: () => answered(api.GET("/ui/timeline", { params: { query: { since, until, parts: 240 } } })),
        placeholderData: keepPreviousData,
    });
    const move = (parts: number) =>
        change({ at: new Date((at ?? opened) + parts * hours * HOUR).toISOString().slice(0, 16).concat("Z") });
    const { data } = timeline;
    return (
        <div className={styles.page}>
            <PageHead title="Timeline" />
            <div className={styles.bar}>
                <SearchField
                    label="DAGs"
                    placeholder="Part of a name"
                    text={search}
                    onText={(text) => change({ q: text })}
                />
                <Select label="Window" value={hours} onChange={(event) => change({ hours: event.target.value })}>
                    {LENGTHS.map((one) => (
                        <option key={one} value={one}>
                            {NAMES[one]}
                        </option>
                    ))}
                </Select>
                <Button onClick={() => move(-0.5)}>← Earlier</Button>
                <Button onClick={() => change({ at: null })} disabled={at === null}>
                    Now
                </Button>
                <Button onClick={() => move(0.5)}>Later →</Button>
                <span className={styles.planned}>planned by a schedule</span>
            </div>
            {timeline.isLoadingError && <QueryError error={timeline.error} />}
            {timeline.isPending && <Skeleton height="30rem" />}
            {data?.is_truncated === true && (
                <p className={styles.soft}>There are more runs than are drawn; choose a shorter window.</p>
            )}
            {data !== undefined && data.runs.length === 0 && (data.forecast?.runs.length ?? 0) === 0 ? (
                <EmptyNote title="Nothing ran and nothing will">
                    <p>
                        Look at another time, or turn a <Link to="/dags">DAG</Link> with a schedule on.
                    </p>
                </EmptyNote>
            ) : (
                data !== undefined && <Chart timeline={data} search={search} />
            )}
        </div>
    );
}
