import { queries } from "../../../api/queries";
import { ChosenRun } from "../chosen_run";
import { early } from "../early";
import { useDag } from "../shape";
import { useAddress } from "../use_address";
import { versionOf } from "../version_select";
import styles from "./graph.module.css";
import { GraphView, graphOf } from "./graph_view";

// Of which version the graph of a run is has to be asked first.
export const loader = early(async ({ dagId, address }) => {
    if (!address.has("run")) await queries.prefetchQuery(graphOf(dagId, versionOf(address)));
});
export { shouldRevalidate } from "../early";

/** The graph of the DAG, with the states of the run that the address names. */
export function Component() {
    const { dag_id: dagId, recent_runs: runs } = useDag();
    const [address, change] = useAddress();
    const newest = runs[0]?.run_id;
    return (
        <div className={styles.page} data-fills="">
            <ChosenRun
                dagId={dagId}
                otherwise={
                    newest === undefined ? (
                        "Once there are runs, their states can be seen here."
                    ) : (
                        <>
                            Choose a run in the grid to see its states here, or{" "}
                            <button type="button" className={styles.newest} onClick={() => change({ run: newest })}>
                                show the newest run
                            </button>
                        </>
                    )
                }
            />
            <GraphView dagId={dagId} runId={address.get("run")} />
        </div>
    );
}
