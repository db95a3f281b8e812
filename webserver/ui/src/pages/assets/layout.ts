import ElkApi from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import type { AssetArrow, AssetNode } from "./model";

/** The size of a node in pixels; the style sheet has the same. */
export const NODE = { width: 200, height: 52 } as const;

const elk = new ElkApi({ workerUrl });

const OPTIONS = {
    "elk.algorithm": "layered",
    "elk.direction": "RIGHT",
    "elk.spacing.nodeNode": "18",
    "elk.layered.spacing.nodeNodeBetweenLayers": "70",
    "elk.separateConnectedComponents": "true",
    "elk.spacing.componentComponent": "40",
};

/** Return where each node stands, by its id. */
export async function layOut(
    nodes: readonly AssetNode[],
    arrows: readonly AssetArrow[],
): Promise<Map<string, { x: number; y: number }>> {
    const laidOut = await elk.layout({
        id: "assets",
        layoutOptions: OPTIONS,
        children: nodes.map((node) => ({ id: node.id, ...NODE })),
        edges: arrows.map((arrow) => ({ id: arrow.id, sources: [arrow.source], targets: [arrow.target] })),
    });
    return new Map((laidOut.children ?? []).map((node) => [node.id, { x: node.x ?? 0, y: node.y ?? 0 }]));
}
