import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { keys } from "../../api/keys";
import { Button } from "../../components/button";
import { EmptyNote, Skeleton } from "../../components/notes";
import { QueryError } from "../../components/query_error";
import { type Column, Table } from "../../components/table";
import styles from "./admin.module.css";

const LIMIT = 100;

export interface Page<Row> {
    rows: readonly Row[];
    total: number;
}

interface ListingProps<Row> {
    label: string;
    /** What this list stands under in the cache. */
    cacheKey: readonly unknown[];
    ask: (page: { limit: number; offset: number }) => Promise<Page<Row>>;
    columns: Column<Row>[];
    keyOf: (row: Row) => string;
    /** What there is to do where the list is empty. */
    empty: { title: string; words: string };
    /** The name of the list, where the page has several. */
    title?: string;
    /** What the list is of, in a sentence. */
    about?: string;
    /** What is done with the list, beside its words. */
    actions?: ReactNode;
}

/** A list of the administration, a page at a time. */
export function Listing<Row>({
    label,
    cacheKey,
    ask,
    columns,
    keyOf,
    empty,
    title,
    about,
    actions,
}: ListingProps<Row>) {
    const list = useInfiniteQuery({
        queryKey: [...keys.admin, ...cacheKey],
        queryFn: ({ pageParam }) => ask({ limit: LIMIT, offset: pageParam }),
        initialPageParam: 0,
        getNextPageParam: (page, pages) => {
            const seen = pages.reduce((sum, one) => sum + one.rows.length, 0);
            return seen < page.total && page.rows.length > 0 ? seen : null;
        },
        placeholderData: (before) => before,
    });
    const rows = list.data?.pages.flatMap((page) => page.rows);
    return (
        <>
            <header className={styles.bar}>
                <div>
                    {title !== undefined && <h2>{title}</h2>}
                    {about !== undefined && <p className={styles.quiet}>{about}</p>}
                </div>
                {actions !== undefined && !list.isLoadingError && <div className={styles.tools}>{actions}</div>}
            </header>
            {list.isLoadingError && <QueryError error={list.error} />}
            {list.isPending && <Skeleton height="16rem" />}
            {rows?.length === 0 && (
                <EmptyNote title={empty.title}>
                    <p>{empty.words}</p>
                </EmptyNote>
            )}
            {rows !== undefined && rows.length > 0 && (
                <Table label={label} columns={columns} rows={rows} keyOf={keyOf} />
            )}
            {list.hasNextPage && (
                <Button onClick={() => void list.fetchNextPage()} disabled={list.isFetchingNextPage}>
                    Show more
                </Button>
            )}
        </>
    );
}
