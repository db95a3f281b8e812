import { useOutletContext } from "react-router";
import type { Got } from "../../api/client";

export type DagHeadShape = Got<"/ui/dags/{dag_id}">;

/** Return the DAG whose page this is; for what stands below `pages/dag`. */
export function useDag(): DagHeadShape {
    return useOutletContext<DagHeadShape>();
}
