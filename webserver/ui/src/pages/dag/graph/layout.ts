import ElkApi from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import { type Box, boxesOf, elkGraphOf, type Route, routesOf } from "./elk_graph";
import type { SeenGraph } from "./model";

// One worker serves every graph. It starts while the graph is still being fetched, since that takes about as long.
const elk = new ElkApi({ workerUrl });

/** Where all of a graph stands. */
export interface Layout {
    graph: SeenGraph;
    boxes: ReadonlyMap<string, Box>;
    routes: ReadonlyMap<string, Route>;
}

/** Lay out a graph. It is worked out beside the page, which stays usable meanwhile. */
export async function layOut(graph: SeenGraph): Promise<Layout> {
    const root = elkGraphOf(graph);
    const laidOut = await elk.layout(root);
    return {
        graph,
        boxes: boxesOf(laidOut),
        routes: routesOf({ ...laidOut, layoutOptions: root.layoutOptions ?? {} }),
    };
}
