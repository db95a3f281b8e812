import type { GraphNode } from "./model";

/** A node of a graph, as tests want it. */
export const node = (id: string, parent: string | null = null, kind: GraphNode["kind"] = "task"): GraphNode => ({
    id,
    label: id,
    kind,
    parent,
    is_mapped: false,
    operator: null,
    trigger_rule: null,
    is_setup: false,
    is_teardown: false,
    doc_md: null,
});
