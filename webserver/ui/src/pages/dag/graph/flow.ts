import { type Edge, MarkerType, type Node, Position } from "@xyflow/react";
import { type Box, edgeId, type Route } from "./elk_graph";
import type { SeenEdge, SeenGraph, SeenNode } from "./model";

export type FlowEdge = Edge<{ route: Route | undefined; label: string | null }, "routed">;
export type FlowNode = Node<{ seen: SeenNode }, "task" | "frame" | "asset">;

/** Return the nodes as React Flow draws them: each frame before what stands in it. */
export function flowNodes({ nodes }: SeenGraph, boxes: ReadonlyMap<string, Box>): FlowNode[] {
    return nodes.flatMap((seen) => {
        const box = boxes.get(seen.node.id);
        return box === undefined ? [] : [flowNode(seen, box)];
    });
}

function flowNode(seen: SeenNode, { x, y, width, height }: Box): FlowNode {
    const { id, kind } = seen.node;
    const isFrame = kind === "group" && !seen.isClosed;
    const end = { y: height / 2, width: 1, height: 1 };
    return {
        id,
        type: isFrame ? "frame" : kind === "task" || kind === "group" ? "task" : "asset",
        position: { x, y },
        width,
        height,
        data: { seen },
        ...(seen.parent === null ? {} : { parentId: seen.parent }),
        // Told, so that what is out of sight need not be drawn to know where its edges end.
        handles: [
            { ...end, type: "target", position: Position.Left, x: 0 },
            { ...end, type: "source", position: Position.Right, x: width },
        ],
        focusable: false,
        selectable: false,
        draggable: false,
        // Frames, however deep one stands in another, are below the edges, and those below the tasks.
        zIndex: isFrame ? -100 : 2,
    };
}

/** Return the edges; those that do not belong to `kin` are faint. Each kind has a line of its own. */
export function flowEdges(
    edges: readonly SeenEdge[],
    routes: ReadonlyMap<string, Route>,
    kin: ReadonlySet<string> | null,
): FlowEdge[] {
    return edges.map((edge) => {
        const isFaint = kin !== null && !(kin.has(edge.source) && kin.has(edge.target));
        return {
            id: edgeId(edge.source, edge.target),
            type: "routed" as const,
            data: { route: routes.get(edgeId(edge.source, edge.target)), label: edge.label },
            source: edge.source,
            target: edge.target,
            className: `${edge.kind === "task" ? "" : edge.kind}${isFaint ? " faint" : kin === null ? "" : " kin"}`,
            focusable: false,
            selectable: false,
            zIndex: 1,
            markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: "var(--text-soft)" },
        };
    });
}

/** Return where the middle of a node is on the whole canvas; null of a node that is not seen. */
export function middleOf(
    { nodes }: SeenGraph,
    boxes: ReadonlyMap<string, Box>,
    id: string,
): { x: number; y: number } | null {
    const own = boxes.get(id);
    if (own === undefined) return null;
    const parents = new Map(nodes.map((one) => [one.node.id, one.parent]));
    const middle = { x: own.x + own.width / 2, y: own.y + own.height / 2 };
    for (let one = parents.get(id); one !== undefined && one !== null; one = parents.get(one)) {
        const box = boxes.get(one);
        middle.x += box?.x ?? 0;
        middle.y += box?.y ?? 0;
    }
    return middle;
}

/** Return how large the whole is. */
export function sizeOf(boxes: ReadonlyMap<string, Box>, { nodes }: SeenGraph): { width: number; height: number } {
    const size = { width: 1, height: 1 };
    for (const { node, parent } of nodes) {
        const box = parent === null ? boxes.get(node.id) : undefined;
        if (box === undefined) continue;
        size.width = Math.max(size.width, box.x + box.width);
        size.height = Math.max(size.height, box.y + box.height);
    }
    return size;
}
