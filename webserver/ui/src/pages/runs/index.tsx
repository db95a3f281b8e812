import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useSearchParams } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { useZone } from "../../components/clock";
import { EmptyNote, Skeleton } from "../../components/notes";
import { PageHead } from "../../components/page";
import { QueryError } from "../../components/query_error";
import { Table } from "../../components/table";
import styles from "../dags/dags.module.css";
import { COLUMNS, keyOf } from "./columns";
import { filtersOf, queryOf, type RunFilters } from "./filters";
import { RunBulkBar } from "./run_bulk_bar";
import { RunFilterBar } from "./run_filter_bar";

/** The runs of all DAGs that one may see, the newest first. */
export function Component() {
    const [address] = useSearchParams();
    const filters = filtersOf(address);
    return (
        <>
            <PageHead title="Runs" />
            <div className={styles.list}>
                <RunFilterBar filters={filters} />
                <Rows key={address.toString()} filters={filters} />
            </div>
        </>
    );
}

const CHANGING = ["clear runs", "edit runs"];

function Rows({ filters }: { filters: RunFilters }) {
    const me = useMe();
    const zone = useZone();
    const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
    const held = [...me.permissions, ...Object.values(me.dag_permissions).flat()];
    const choosing = CHANGING.some((one) => held.includes(one)) ? { chosen, onChosen: setChosen } : undefined;
    const runs = useInfiniteQuery({
        queryKey: [...keys.runs, "list", filters, zone],
        queryFn: ({ pageParam }) =>
            answered(api.GET("/ui/runs", { params: { query: { ...queryOf(filters, zone), cursor: pageParam } } })),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
        placeholderData: (before) => before,
    });
    if (runs.isLoadingError) return <QueryError error={runs.error} />;
    if (runs.data === undefined) return <Skeleton height="24rem" />;
    const rows = runs.data.pages.flatMap((page) => page.runs);
    if (rows.length === 0) return <Nothing />;
    return (
        <>
            <RunBulkBar runs={rows.filter((run) => chosen.has(keyOf(run)))} onNone={() => setChosen(new Set())} />
            <Table label="Runs" columns={COLUMNS} rows={rows} keyOf={keyOf} choosing={choosing} />
            {runs.hasNextPage && (
                <Button onClick={() => void runs.fetchNextPage()} disabled={runs.isFetchingNextPage}>
                    Show more
                </Button>
            )}
        </>
    );
}

function Nothing() {
    const [address] = useSearchParams();
    return address.size > 0 ? (
        <EmptyNote title="No run is like that">
            <p>Take a filter away.</p>
        </EmptyNote>
    ) : (
        <EmptyNote title="No runs yet">
            <p>
                Turn a <Link to="/dags">DAG</Link> with a schedule on, or trigger one.
            </p>
        </EmptyNote>
    );
}
