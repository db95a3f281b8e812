import type { ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api";
import type { SeenGraph, SeenNode } from "./model";

/** The size of what is drawn, in pixels; the style sheet has the same. */
export const TASK = { width: 190, height: 54 } as const;
export const ASSET = { width: 176, height: 34 } as const;

export interface Box {
    x: number;
    y: number;
    width: number;
    height: number;
}

const OPTIONS = {
    "elk.algorithm": "layered",
    "elk.direction": "RIGHT",
    "elk.spacing.nodeNode": "16",
    "elk.layered.spacing.nodeNodeBetweenLayers": "44",
    "elk.layered.spacing.edgeNodeBetweenLayers": "16",
    "elk.spacing.edgeNode": "8",
    "elk.spacing.edgeEdge": "4",
    "elk.padding": "[top=38,left=14,bottom=14,right=14]",
} as const;

const BEST = {
    "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
    "elk.hierarchyHandling": "INCLUDE_CHILDREN",
    "elk.edgeRouting": "ORTHOGONAL",
    "elk.layered.unnecessaryBendpoints": "true",
    // Where edges bend is told on the whole canvas, not within this or that group.
    "elk.json.edgeCoords": "ROOT",
} as const;

/**
 * What stands beside what follows the order of the file. For the whole alone: ELK fails on most graphs with edges from
 * group to group when the groups ask for it too ("Cannot read properties of undefined").
 */
const WHOLE = { "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES" } as const;

/** Return a graph as ELK wants it: each open group with its own content, laid out as a whole, and edges routed. */
export function elkGraphOf({ nodes, edges }: SeenGraph): ElkNode {
    const layoutOptions = { ...OPTIONS, ...BEST };
    const build = (parent: string | null): ElkNode[] =>
        nodes
            .filter((one) => one.parent === parent)
            .map((one) => {
                const children = one.isClosed ? [] : build(one.node.id);
                return { id: one.node.id, ...(children.length > 0 ? { layoutOptions, children } : sizeOf(one)) };
            });
    return {
        id: "graph",
        layoutOptions: { ...layoutOptions, ...WHOLE },
        children: build(null),
        edges: edges.map(elkEdge),
    };
}

/** The name of an edge: there is one at most from one node to another. */
export const edgeId = (source: string, target: string): string => `${source}\n${target}`;

function elkEdge({ source, target, label }: SeenGraph["edges"][number]): ElkExtendedEdge {
    // Room for the words of a label, which are as wide as they are long.
    const labels = label === null ? [] : [{ text: label, width: label.length * 6.6 + 12, height: 18 }];
    return { id: edgeId(source, target), sources: [source], targets: [target], labels };
}

/** Return how large a node is that has nothing in it. */
export function sizeOf({ node }: SeenNode): { width: number; height: number } {
    return node.kind === "task" || node.kind === "group" ? TASK : ASSET;
}

/** Return the place of each node of what ELK laid out, within the group that it stands in. */
export function boxesOf(root: ElkNode): Map<string, Box> {
    const found = new Map<string, Box>();
    const waiting = [...(root.children ?? [])];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
        found.set(one.id, { x: one.x ?? 0, y: one.y ?? 0, width: one.width ?? 0, height: one.height ?? 0 });
        waiting.push(...(one.children ?? []));
    }
    return found;
}

export interface Point {
    x: number;
    y: number;
}

/** Where an edge bends, from its begin to its end, and where its label stands. */
export interface Route {
    points: Point[];
    label: Point | null;
}

/** Return the routes of the edges on the whole canvas. */
export function routesOf(root: ElkNode): Map<string, Route> {
    const found = new Map<string, Route>();
    for (const edge of root.edges ?? []) {
        const points = (edge.sections ?? []).flatMap((one) => [
            one.startPoint,
            ...(one.bendPoints ?? []),
            one.endPoint,
        ]);
        const label = edge.labels?.[0];
        const middle =
            label === undefined
                ? null
                : { x: (label.x ?? 0) + (label.width ?? 0) / 2, y: (label.y ?? 0) + (label.height ?? 0) / 2 };
        if (points.length > 1) found.set(edge.id, { points, label: middle });
    }
    return found;
}

/** Return the path of a line through points, its corners rounded. */
export function roundedPath(points: readonly Point[], radius = 8): string {
    const [first, ...rest] = points;
    if (first === undefined) return "";
    let path = `M${first.x},${first.y}`;
    let before = first;
    rest.forEach((point, at) => {
        const after = rest[at + 1];
        if (after === undefined) path += `L${point.x},${point.y}`;
        else {
            const begin = towards(point, before, radius);
            const end = towards(point, after, radius);
            path += `L${begin.x},${begin.y}Q${point.x},${point.y} ${end.x},${end.y}`;
        }
        before = point;
    });
    return path;
}

/** Return the point that lies `distance` from one point towards another, half of the way at most. */
function towards(from: Point, to: Point, distance: number): Point {
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const share = length === 0 ? 0 : Math.min(distance / length, 0.5);
    return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}
