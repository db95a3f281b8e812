import { useInfiniteQuery } from "@tanstack/react-query";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { Button } from "../../../components/button";
import { hasFailed } from "../../../components/failures";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { BackfillButton } from "../../../forms/backfill/backfill_button";
import { useDag } from "../shape";
import toolbar from "../toolbar.module.css";
import { BackfillPanel } from "./backfill_panel";

const PAGE = 20;

/** The backfills of the DAG, the newest first. */
export function Component() {
    const { dag_id: dagId, is_backfillable: isBackfillable } = useDag();
    const backfills = useInfiniteQuery({
        queryKey: keys.dagOverview(dagId, "backfills"),
        queryFn: ({ pageParam }) =>
            answered(
                api.GET("/api/v2/backfills", {
                    params: { query: { dag_id: dagId, limit: PAGE, offset: pageParam, order_by: ["-id"] } },
                }),
            ),
        initialPageParam: 0,
        getNextPageParam: (page, pages) => (pages.length * PAGE < page.total_entries ? pages.length * PAGE : undefined),
    });
    if (hasFailed(backfills)) return <ErrorNote error={backfills.error} />;
    if (backfills.data === undefined) return <Skeleton height="20rem" />;
    const rows = backfills.data.pages.flatMap((page) => page.backfills);
    if (rows.length === 0) {
        return (
            <EmptyNote title="No backfills">
                <p>
                    {isBackfillable
                        ? "A backfill makes the runs of past dates, as many at once as you say. Its form shows each of them first."
                        : "This DAG has no schedule by which past runs could be told, so there is nothing to backfill."}
                </p>
                {isBackfillable && (
                    <p>
                        <BackfillButton dagId={dagId} look="main" />
                    </p>
                )}
            </EmptyNote>
        );
    }
    return (
        <div className={toolbar.part}>
            {rows.map((row) => (
                <BackfillPanel key={row.id} dagId={dagId} backfill={row} />
            ))}
            {backfills.hasNextPage && <Button onClick={() => void backfills.fetchNextPage()}>Show more</Button>}
        </div>
    );
}
