import ElkApi, { type ELK } from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import { type Box, boxesOf, elkGraphOf, type Route, routesOf } from "./elk_graph";
import type { SeenGraph } from "./model";
import { quickLayout } from "./quick_layout";

/** Above this many nodes the layout that looks best takes too long. */
const MANY = 80;

// One worker serves every graph that is not large. It takes a while to start, so it does not for those that are.
let elk: ELK | undefined;

/** Where all of a graph stands. */
export interface Layout {
    graph: SeenGraph;
    boxes: ReadonlyMap<string, Box>;
    routes: ReadonlyMap<string, Route>;
}

/** Lay out a graph: what ELK works out is worked out beside the page, which stays usable meanwhile. */
export async function layOut(graph: SeenGraph): Promise<Layout> {
    if (graph.nodes.length > MANY) return quickly(graph);
    elk ??= new ElkApi({ workerUrl });
    try {
        const laidOut = await elk.layout(elkGraphOf(graph));
        return { graph, boxes: boxesOf(laidOut), routes: routesOf(laidOut) };
    } catch {
        // A plainer drawing is worth more than the sentence of a library that could not make a better one.
        return quickly(graph);
    }
}

function quickly(graph: SeenGraph): Layout {
    return { graph, boxes: quickLayout(graph), routes: new Map() };
}
