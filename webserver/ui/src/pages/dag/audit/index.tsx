import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { answered, api, type Got } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Button } from "../../../components/button";
import { Moment } from "../../../components/clock";
import { hasFailed } from "../../../components/failures";
import { runPath, taskPath } from "../../../components/links";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { SearchField } from "../../../components/search_field";
import { type Column, Table } from "../../../components/table";
import { detailOf } from "../../admin/audit_detail";
import styles from "../runs/runs.module.css";
import { useDag } from "../shape";
import toolbar from "../toolbar.module.css";
import { useAddress } from "../use_address";

type AuditRow = Got<"/ui/audit">["events"][number];

/** Who changed what of the DAG, the newest first. */
export function Component() {
    const { dag_id: dagId } = useDag();
    const [address, change] = useAddress();
    return (
        <div className={toolbar.part}>
            <div className={toolbar.bar}>
                <SearchField
                    label="By"
                    hint="The whole name of an account, or of a part of Treadle"
                    text={address.get("by") ?? ""}
                    onText={(text) => change({ by: text })}
                />
                <SearchField
                    label="What"
                    hint="Such as trigger_dag_run"
                    text={address.get("what") ?? ""}
                    onText={(text) => change({ what: text })}
                />
            </div>
            <Rows dagId={dagId} actor={address.get("by")} event={address.get("what")} />
        </div>
    );
}

function Rows({ dagId, actor, event }: { dagId: string; actor: string | null; event: string | null }) {
    const query = {
        dag_id: dagId,
        ...(actor === null ? {} : { actor }),
        ...(event === null ? {} : { event: [event] }),
    };
    const audit = useInfiniteQuery({
        queryKey: keys.dagOverview(dagId, "audit", query),
        queryFn: ({ pageParam }) =>
            answered(api.GET("/ui/audit", { params: { query: { ...query, cursor: pageParam } } })),
        initialPageParam: "",
        getNextPageParam: (page) => page.next_cursor,
        placeholderData: (before) => before,
    });
    if (hasFailed(audit)) return <ErrorNote error={audit.error} />;
    if (audit.data === undefined) return <Skeleton height="24rem" />;
    const rows = audit.data.pages.flatMap((page) => page.events);
    if (rows.length === 0) {
        return (
            <EmptyNote title="No changes">
                <p>What people and Treadle itself change about this DAG and its runs is listed here.</p>
            </EmptyNote>
        );
    }
    return (
        <>
            <Table label="Audited changes" columns={COLUMNS} rows={rows} keyOf={(row) => String(row.id)} />
            {audit.hasNextPage && (
                <Button onClick={() => void audit.fetchNextPage()} disabled={audit.isFetchingNextPage}>
                    Show more
                </Button>
            )}
        </>
    );
}

const COLUMNS: Column<AuditRow>[] = [
    { head: "When", cell: (row) => <Moment at={row.happened_at} /> },
    { head: "By", cell: (row) => row.actor },
    { head: "What", cell: (row) => <span className={styles.what}>{row.event.replaceAll("_", " ")}</span> },
    { head: "Of", cell: (row) => <Of row={row} /> },
    { head: "Detail", cell: (row) => <span className={styles.quiet}>{detailOf(row.detail)}</span> },
];

function Of({ row }: { row: AuditRow }) {
    if (row.dag_id === null || row.run_id === null) return "the DAG";
    if (row.task_id === null) return <Link to={runPath(row.dag_id, row.run_id)}>{row.run_id}</Link>;
    return (
        <Link to={taskPath(row.dag_id, row.run_id, row.task_id, row.map_index ?? -1)}>
            {row.task_id}
            {(row.map_index ?? -1) < 0 ? "" : ` [${row.map_index}]`}
        </Link>
    );
}
