import { useState } from "react";
import { Link } from "react-router";
import type { Got } from "../../../api/client";
import { Button } from "../../../components/button";
import { Moment, Took } from "../../../components/clock";
import { runPath } from "../../../components/links";
import { State } from "../../../components/state";
import { type Column, Table } from "../../../components/table";

type BackfillDate = Got<"/api/v2/backfills/{backfill_id}/progress">["dates"][number];

const STEP = 50;

/** The dates of a backfill, each with its run. */
export function DateList({ dagId, dates }: { dagId: string; dates: readonly BackfillDate[] }) {
    const [shown, setShown] = useState(STEP);
    const columns: Column<BackfillDate>[] = [
        { head: "Date", cell: (date) => <Moment at={date.logical_date} /> },
        { head: "State", cell: (date) => <State state={date.state} /> },
        { head: "Run", cell: (date) => <Link to={runPath(dagId, date.dag_run_id)}>{date.dag_run_id}</Link> },
        { head: "Took", isNumber: true, cell: (date) => <Took from={date.start_date} to={date.end_date} /> },
    ];
    return (
        <>
            <Table
                label="Runs of the backfill"
                columns={columns}
                rows={dates.slice(0, shown)}
                keyOf={(date) => date.dag_run_id}
            />
            {shown < dates.length && (
                <Button onClick={() => setShown(shown + STEP)}>
                    Show more ({dates.length - shown} are not shown yet)
                </Button>
            )}
        </>
    );
}
