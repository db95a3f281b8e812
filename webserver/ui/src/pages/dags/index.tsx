import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { EmptyNote, Skeleton } from "../../components/notes";
import { PageHead } from "../../components/page";
import { QueryError } from "../../components/query_error";
import { BrokenNote } from "./broken_note";
import { BulkBar } from "./bulk_bar";
import { DagTable } from "./dag_table";
import styles from "./dags.module.css";
import { FilterBar } from "./filter_bar";
import { type Filters, filtersOf, queryOf } from "./filters";

/** The list of all DAGs that one may see. */
export function Component() {
    const [address] = useSearchParams();
    const filters = filtersOf(address);
    const counts = useQuery({
        queryKey: [...keys.dags, "counts"],
        queryFn: () => answered(api.GET("/ui/dags/counts")),
    });
    return (
        <>
            <PageHead title="DAGs" />
            <div className={styles.list}>
                <FilterBar filters={filters} counts={counts.data} />
                <BrokenNote />
                <Rows key={address.toString()} filters={filters} />
            </div>
        </>
    );
}

const CHANGING = ["edit DAGs", "trigger runs"];

function Rows({ filters }: { filters: Filters }) {
    const me = useMe();
    const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
    const held = [...me.permissions, ...Object.values(me.dag_permissions).flat()];
    const choosing = CHANGING.some((one) => held.includes(one)) ? { chosen, onChosen: setChosen } : undefined;
    const dags = useInfiniteQuery({
        queryKey: [...keys.dags, "list", filters],
        queryFn: ({ pageParam }) =>
            answered(api.GET("/ui/dags", { params: { query: { ...queryOf(filters), cursor: pageParam } } })),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
        placeholderData: (before) => before,
    });
    if (dags.isLoadingError) return <QueryError error={dags.error} />;
    if (dags.data === undefined) return <Skeleton height="24rem" />;
    const rows = dags.data.pages.flatMap((page) => page.dags);
    if (rows.length === 0) return <Nothing filters={filters} />;
    return (
        <>
            <BulkBar filters={filters} total={dags.data.pages[0]?.total ?? null} chosen={chosen} onChosen={setChosen} />
            <DagTable dags={rows} choosing={choosing} />
            {dags.hasNextPage && (
                <Button onClick={() => void dags.fetchNextPage()} disabled={dags.isFetchingNextPage}>
                    Show more
                </Button>
            )}
        </>
    );
}

function Nothing({ filters }: { filters: Filters }) {
    const isFiltered =
        filters.shown !== "all" || filters.lastRun !== null || filters.search + filters.tags + filters.owners !== "";
    return isFiltered ? (
        <EmptyNote title="No DAG is like that">
            <p>Take a filter away, or look at all DAGs.</p>
        </EmptyNote>
    ) : (
        <EmptyNote title="No DAGs yet">
            <p>
                Put a file that defines one into the DAGs folder; it appears here within a second. The least there is:
            </p>
            <pre className={styles.example}>{EXAMPLE}</pre>
        </EmptyNote>
    );
}

const EXAMPLE = `from treadle import dag, task

@dag(schedule="@daily")
def hello():
    @task
    def greet():
        print("hello")

    greet()

hello()`;
