import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { answered, api, type Got } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Button } from "../../../components/button";
import { Moment, Took, useZone } from "../../../components/clock";
import { hasFailed } from "../../../components/failures";
import { Field } from "../../../components/field";
import { gridPath, runPath } from "../../../components/links";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { SearchField } from "../../../components/search_field";
import { State } from "../../../components/state";
import { type Column, Table } from "../../../components/table";
import { lengthOf } from "../../../components/times";
import { untilMinuteOf } from "../grid/past";
import { NoRuns } from "../no_runs";
import { RunFilterBar, runFilterOf } from "../run_filter";
import { useDag } from "../shape";
import toolbar from "../toolbar.module.css";
import { useAddress } from "../use_address";
import { boundsOf } from "./day";
import styles from "./runs.module.css";

type RunRow = Got<"/ui/runs">["runs"][number];

/** The runs of the DAG, the newest first. */
export function Component() {
    const { dag_id: dagId } = useDag();
    const [address, change] = useAddress();
    const bounds = useBounds();
    return (
        <div className={toolbar.part}>
            <div className={toolbar.bar}>
                <RunFilterBar />
                <Field
                    label="Day"
                    type="date"
                    value={address.get("day") ?? ""}
                    onChange={(event) => change({ day: event.target.value, zone: null })}
                />
                <SearchField
                    label="Run id has"
                    text={address.get("search") ?? ""}
                    onText={(text) => change({ search: text })}
                />
                {bounds !== null && (
                    <Link className={styles.beside} to={gridPath(dagId, bounds.until)}>
                        Until this day in the grid
                    </Link>
                )}
            </div>
            <Rows dagId={dagId} />
        </div>
    );
}

/** The day that the address names; it is one of the zone that it names, or else that is looked at. */
function useBounds() {
    const [address] = useAddress();
    const zone = useZone();
    return boundsOf(address.get("day") ?? "", address.get("zone") ?? zone);
}

function useRuns(dagId: string) {
    const [address] = useAddress();
    const bounds = useBounds();
    const search = address.get("search");
    const query = {
        dag_id: dagId,
        ...runFilterOf(address),
        ...(bounds ?? {}),
        ...(search === null ? {} : { search }),
        limit: 50,
    };
    return useInfiniteQuery({
        queryKey: keys.dagOverview(dagId, "runs", query),
        queryFn: ({ pageParam }) =>
            answered(api.GET("/ui/runs", { params: { query: { ...query, cursor: pageParam } } })),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
        placeholderData: (before) => before,
    });
}

function Rows({ dagId }: { dagId: string }) {
    const runs = useRuns(dagId);
    const [address] = useAddress();
    if (hasFailed(runs)) return <ErrorNote error={runs.error} />;
    if (runs.data === undefined) return <Skeleton height="24rem" />;
    const rows = runs.data.pages.flatMap((page) => page.runs);
    if (rows.length === 0) {
        const isFiltered = ["state", "type", "day", "search"].some((name) => address.has(name));
        return isFiltered ? (
            <EmptyNote title="No run is like that">
                <p>Take a filter away to see the others.</p>
            </EmptyNote>
        ) : (
            <NoRuns />
        );
    }
    return (
        <>
            <Table label="Runs" columns={COLUMNS} rows={rows} keyOf={(run) => run.run_id} />
            {runs.hasNextPage && (
                <Button onClick={() => void runs.fetchNextPage()} disabled={runs.isFetchingNextPage}>
                    Show more
                </Button>
            )}
        </>
    );
}

const COLUMNS: Column<RunRow>[] = [
    { head: "State", cell: (run) => <State state={run.state} /> },
    {
        head: "Run",
        cell: (run) => (
            <div className={styles.name}>
                <Link to={runPath(run.dag_id, run.run_id)}>{run.run_id}</Link>
                {run.note !== null && <span className={styles.quiet}>{run.note}</span>}
            </div>
        ),
    },
    { head: "After", cell: (run) => <After run={run} /> },
    {
        head: "Started by",
        cell: (run) => [run.run_type.replaceAll("_", " "), run.triggering_user].filter(Boolean).join(", "),
    },
    { head: "Queued for", isNumber: true, isWide: true, cell: (run) => lengthOf(run.queue_seconds) },
    { head: "Took", isNumber: true, cell: (run) => <Took from={run.started_at} to={run.ended_at} /> },
    { head: "Version", isNumber: true, isWide: true, cell: (run) => run.version_number },
];

/** When the run was due, which leads to where it stands in the grid. */
function After({ run }: { run: RunRow }) {
    const { dag_id: dagId, run_id: runId, run_after: after } = run;
    if (after === null) return "–";
    return (
        <Link to={gridPath(dagId, untilMinuteOf(after), runId)} title="Show it in the grid">
            <Moment at={after} />
        </Link>
    );
}
