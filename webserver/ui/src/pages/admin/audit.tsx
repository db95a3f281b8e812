import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { answered, api, type Got } from "../../api/client";
import { keys } from "../../api/keys";
import { Button } from "../../components/button";
import { Moment } from "../../components/clock";
import { dagPath, runPath, taskPath } from "../../components/links";
import { EmptyNote, Skeleton } from "../../components/notes";
import { QueryError } from "../../components/query_error";
import { SearchField } from "../../components/search_field";
import { type Column, Table } from "../../components/table";
import styles from "./admin.module.css";
import { detailOf } from "./audit_detail";

type Row = Got<"/ui/audit">["events"][number];

const FILTERS = [
    { name: "actor", label: "Who" },
    { name: "event", label: "Event" },
    { name: "dag_id", label: "DAG" },
] as const;

/** Who changed what, the newest first. */
export function Component() {
    const [address, setAddress] = useSearchParams();
    const filters = Object.fromEntries(FILTERS.map(({ name }) => [name, address.get(name) ?? ""] as const));
    const asked = Object.fromEntries(Object.entries(filters).filter(([, text]) => text !== ""));
    const audit = useInfiniteQuery({
        queryKey: [...keys.admin, "audit", asked],
        queryFn: ({ pageParam }) =>
            answered(api.GET("/ui/audit", { params: { query: { ...asked, cursor: pageParam, limit: 100 } } })),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
        placeholderData: (before) => before,
    });
    const set = (name: string, text: string) =>
        setAddress(
            (before) => {
                before.delete(name);
                if (text !== "") before.set(name, text);
                return before;
            },
            { replace: true },
        );
    const rows = audit.data?.pages.flatMap((page) => page.events);
    return (
        <>
            <div className={styles.pair}>
                {FILTERS.map(({ name, label }) => (
                    <SearchField
                        key={name}
                        label={label}
                        text={filters[name] ?? ""}
                        onText={(text) => set(name, text)}
                    />
                ))}
            </div>
            {audit.isLoadingError && <QueryError error={audit.error} />}
            {audit.isPending && <Skeleton height="24rem" />}
            {rows?.length === 0 && (
                <EmptyNote title="Nothing like that was changed">
                    <p>Names have to be written out in full: trigger run, ann.</p>
                </EmptyNote>
            )}
            {rows !== undefined && rows.length > 0 && (
                <Table label="Audit" columns={COLUMNS} rows={rows} keyOf={(row) => String(row.id)} />
            )}
            {audit.hasNextPage && <Button onClick={() => void audit.fetchNextPage()}>Show more</Button>}
        </>
    );
}

const COLUMNS: Column<Row>[] = [
    { head: "When", cell: (row) => <Moment at={row.happened_at} /> },
    { head: "Who", cell: (row) => row.actor },
    { head: "Event", cell: (row) => row.event },
    { head: "Of what", cell: (row) => <Subject row={row} /> },
    { head: "Details", cell: (row) => <span className={styles.detail}>{detailOf(row.detail)}</span> },
];

function Subject({ row }: { row: Row }) {
    const { dag_id, run_id, task_id, map_index } = row;
    if (dag_id === null) return null;
    if (run_id === null) return <Link to={dagPath(dag_id)}>{dag_id}</Link>;
    if (task_id === null)
        return <Link className={styles.detail} to={runPath(dag_id, run_id)}>{`${dag_id}, ${run_id}`}</Link>;
    return <Link to={taskPath(dag_id, run_id, task_id, map_index ?? -1)}>{`${dag_id}, ${task_id}, ${run_id}`}</Link>;
}
