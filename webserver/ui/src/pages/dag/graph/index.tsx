import { ChosenRun } from "../chosen_run";
import { useDag } from "../shape";
import toolbar from "../toolbar.module.css";
import { useAddress } from "../use_address";
import { GraphView } from "./graph_view";

/** The graph of the DAG, with the states of the run that the address names. */
export function Component() {
    const { dag_id: dagId } = useDag();
    const [address] = useAddress();
    return (
        <div className={toolbar.part}>
            <ChosenRun dagId={dagId} otherwise="Choose a run in the grid to see its states here." />
            <GraphView dagId={dagId} runId={address.get("run")} />
        </div>
    );
}
