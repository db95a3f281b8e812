import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { Took } from "../../components/clock";
import { Dialog } from "../../components/dialog";
import { taskPath } from "../../components/links";
import { Skeleton } from "../../components/notes";
import { QueryError } from "../../components/query_error";
import { State } from "../../components/state";
import { Table } from "../../components/table";

const MOST = 100;

/** The task instances that hold slots of a pool, or wait for one. */
export function PoolHolders({ pool, onClose }: { pool: string; onClose: () => void }) {
    const path = { dag_id: "~", dag_run_id: "~" };
    const query = { pool: [pool], state: ["running", "queued", "scheduled", "deferred"], limit: MOST };
    const found = useQuery({
        queryKey: [...keys.pools, pool, "holders"],
        queryFn: () =>
            answered(api.GET("/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances", { params: { path, query } })),
    });
    const instances = found.data?.task_instances;
    return (
        <Dialog title={`What holds slots of ${pool}`} onClose={onClose}>
            {found.isLoadingError && <QueryError error={found.error} />}
            {found.isPending && <Skeleton height="8rem" />}
            {instances?.length === 0 && <p>Nothing holds a slot, and nothing waits for one.</p>}
            {instances !== undefined && instances.length > 0 && (
                <Table
                    label={`Task instances in ${pool}`}
                    rows={instances}
                    keyOf={(one) => one.id}
                    columns={[
                        { head: "State", cell: (one) => <State state={one.state ?? "none"} /> },
                        {
                            head: "Task",
                            cell: (one) => (
                                <Link to={taskPath(one.dag_id, one.dag_run_id, one.task_id, one.map_index)}>
                                    {one.dag_id}, {one.task_id}
                                    {one.map_index >= 0 && ` [${one.map_index}]`}
                                </Link>
                            ),
                        },
                        { head: "Slots", isNumber: true, cell: (one) => one.pool_slots },
                        { head: "Since", cell: (one) => <Took from={one.start_date ?? one.queued_when} to={null} /> },
                    ]}
                />
            )}
        </Dialog>
    );
}
