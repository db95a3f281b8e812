import { useParams } from "react-router";
import { GanttView } from "./gantt_view";

/** The part of a run's page that shows its tries over time. */
export function Component() {
    const { dagId = "", runId = "" } = useParams();
    return <GanttView dagId={dagId} runId={runId} />;
}
