import type { Got } from "../../../api/client";

export type GraphShape = Got<"/ui/dags/{dag_id}/graph">;
export type GraphNode = GraphShape["nodes"][number];
export type GraphEdge = GraphShape["edges"][number];

/** A node that is seen. A closed group stands for all that is in it; an open one is a frame around it. */
export interface SeenNode {
    node: GraphNode;
    /** The open group that it stands in. */
    parent: string | null;
    isClosed: boolean;
    /** How many tasks a group has in it, on all levels. */
    tasks: number;
}

export interface SeenEdge {
    source: string;
    target: string;
    kind: GraphEdge["kind"];
    label: string | null;
}

export interface SeenGraph {
    nodes: SeenNode[];
    edges: SeenEdge[];
}

/** Return what is seen of a graph when the groups in `folded` are closed: each edge once, between what is seen. */
export function seenOf(graph: GraphShape, folded: ReadonlySet<string>): SeenGraph {
    const standsFor = standInsOf(graph.nodes, folded);
    const tasks = tasksIn(graph.nodes);
    const nodes = graph.nodes
        .filter((node) => standsFor.get(node.id) === node.id)
        .map((node) => ({
            node,
            parent: node.parent,
            isClosed: folded.has(node.id),
            tasks: tasks.get(node.id) ?? 0,
        }));
    return { nodes, edges: seenEdges(graph.edges, standsFor) };
}

/** Return, by node, the outermost closed group that it is in; itself where there is none. */
function standInsOf(nodes: readonly GraphNode[], folded: ReadonlySet<string>): Map<string, string> {
    const found = new Map<string, string>();
    // A group comes before what stands in it.
    for (const node of nodes) {
        const above = node.parent === null ? undefined : found.get(node.parent);
        const isHidden = above !== undefined && (above !== node.parent || folded.has(above));
        found.set(node.id, isHidden ? above : node.id);
    }
    return found;
}

function tasksIn(nodes: readonly GraphNode[]): Map<string, number> {
    const found = new Map<string, number>();
    for (const node of nodes.toReversed()) {
        const own = node.kind === "task" ? 1 : (found.get(node.id) ?? 0);
        if (node.parent !== null) found.set(node.parent, (found.get(node.parent) ?? 0) + own);
    }
    return found;
}

function seenEdges(edges: readonly GraphEdge[], standsFor: ReadonlyMap<string, string>): SeenEdge[] {
    const found = new Map<string, SeenEdge>();
    for (const { source, target, kind, label } of edges) {
        const from = standsFor.get(source);
        const to = standsFor.get(target);
        if (from === undefined || to === undefined || from === to) continue;
        const key = `${from}\n${to}`;
        const known = found.get(key);
        if (known === undefined) found.set(key, { source: from, target: to, kind, label });
        else found.set(key, { ...known, label: known.label ?? label });
    }
    return [...found.values()];
}

/** Return the ids of what a task waits for, on all levels, and of what waits for it. */
export function kinOf(edges: readonly SeenEdge[], id: string): Set<string> {
    return new Set([...reached(edges, id, "source", "target"), ...reached(edges, id, "target", "source")]);
}

type End = "source" | "target";

function reached(edges: readonly SeenEdge[], id: string, from: End, to: End): Set<string> {
    const next = new Map<string, string[]>();
    for (const edge of edges) next.set(edge[from], [...(next.get(edge[from]) ?? []), edge[to]]);
    const found = new Set([id]);
    const waiting = [id];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
        for (const other of next.get(one) ?? []) {
            if (!found.has(other)) {
                found.add(other);
                waiting.push(other);
            }
        }
    }
    return found;
}

/** Return the groups around a node, the innermost first. */
export function groupsAround(nodes: readonly GraphNode[], id: string): string[] {
    return above(id, new Map(nodes.map((node) => [node.id, node.parent])));
}

/** Return the groups around a node, the innermost first; `parents` are the nearest ones of all nodes. */
export function above(id: string, parents: ReadonlyMap<string, string | null>): string[] {
    const found: string[] = [];
    for (let one = parents.get(id); one !== undefined && one !== null; one = parents.get(one)) found.push(one);
    return found;
}
