import { useParams } from "react-router";
import { GraphView } from "../../dag/graph/graph_view";

/** The part of a run's page that shows the graph of its version with the run's states. */
export function Component() {
    const { dagId = "", runId = "" } = useParams();
    return <GraphView dagId={dagId} runId={runId} />;
}
