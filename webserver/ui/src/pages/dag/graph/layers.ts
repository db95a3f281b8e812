/** What is laid out: its size, and the indexes of what comes before and after it. */
export interface Vertex {
    width: number;
    height: number;
    before: readonly number[];
    after: readonly number[];
}

/** Where a vertex stands: its upper left corner. */
export interface Spot {
    x: number;
    y: number;
}

const GAP = 16;
const LAYER_GAP = 60;
/** Rounds of ordering and of straightening, each there and back: more of them change little. */
const ORDERINGS = 4;
const STRAIGHTENINGS = 3;

/**
 * Lay vertices out in layers from left to right: each right of all that it comes after, near what it belongs to, with
 * few crossings. Linear in vertices and edges but for sorting each layer: a thousand take some milliseconds, where the
 * search for the best takes seconds. An edge that closes a circle is passed over.
 */
export function inLayers(vertices: readonly Vertex[]): Spot[] {
    const layerOf = drawnIn(vertices, layersOf(vertices));
    const layers: number[][] = [];
    layerOf.forEach((layer, at) => {
        while (layers.length <= layer) layers.push([]);
        layers[layer]?.push(at);
    });
    const middles = stacked(vertices, layers);
    for (let round = 0; round < ORDERINGS; round++) {
        for (const layer of layers) order(vertices, layer, middles, "before");
        for (const layer of layers.toReversed()) order(vertices, layer, middles, "after");
    }
    for (let round = 0; round < STRAIGHTENINGS; round++) {
        for (const layer of layers.toReversed()) straighten(vertices, layer, middles, "after");
        for (const layer of layers) straighten(vertices, layer, middles, "before");
    }
    return spotsOf(vertices, layers, middles);
}

/** Return how many steps lead to each vertex at most. */
function layersOf(vertices: readonly Vertex[]): number[] {
    const layerOf = vertices.map(() => 0);
    const open = vertices.map((one) => one.before.length);
    const isDone = vertices.map(() => false);
    const ready = [...open.keys()].filter((at) => open[at] === 0);
    const finish = (at: number) => {
        isDone[at] = true;
        for (const after of vertices[at]?.after ?? []) {
            if (isDone[after]) continue;
            layerOf[after] = Math.max(layerOf[after] ?? 0, (layerOf[at] ?? 0) + 1);
            open[after] = (open[after] ?? 1) - 1;
            if (open[after] === 0) ready.push(after);
        }
    };
    for (let first = 0; first < vertices.length; first++) {
        for (let at = ready.pop(); at !== undefined; at = ready.pop()) finish(at);
        // What is left now waits in a circle: the first of it goes on all the same.
        if (!isDone[first]) finish(first);
    }
    return layerOf;
}

/** Return the layers with what nothing comes before moved to just before what comes after it. */
function drawnIn(vertices: readonly Vertex[], layerOf: readonly number[]): number[] {
    return layerOf.map((layer, at) => {
        const { before = [], after = [] } = vertices[at] ?? {};
        if (before.length > 0 || after.length === 0) return layer;
        return Math.max(0, Math.min(...after.map((one) => layerOf[one] ?? 0)) - 1);
    });
}

/** Return the middle of each vertex when each layer is simply stacked, all of them about one line. */
function stacked(vertices: readonly Vertex[], layers: readonly number[][]): number[] {
    const middles = vertices.map(() => 0);
    for (const layer of layers) stack(vertices, layer, middles);
    return middles;
}

function stack(vertices: readonly Vertex[], layer: readonly number[], middles: number[]): void {
    let y = -heightOf(vertices, layer) / 2;
    for (const at of layer) {
        const height = vertices[at]?.height ?? 0;
        middles[at] = y + height / 2;
        y += height + GAP;
    }
}

function heightOf(vertices: readonly Vertex[], layer: readonly number[]): number {
    return layer.reduce((sum, at) => sum + (vertices[at]?.height ?? 0) + GAP, -GAP);
}

type Side = "before" | "after";

/** Put each vertex of a layer near the middle of what it belongs to on one side. */
function order(vertices: readonly Vertex[], layer: number[], middles: number[], side: Side): void {
    const wished = new Map(layer.map((at) => [at, wishOf(vertices[at], middles, side) ?? middles[at] ?? 0]));
    layer.sort((a, b) => (wished.get(a) ?? 0) - (wished.get(b) ?? 0));
    stack(vertices, layer, middles);
}

function wishOf(vertex: Vertex | undefined, middles: readonly number[], side: Side): number | null {
    const others = vertex?.[side] ?? [];
    if (others.length === 0) return null;
    let sum = 0;
    for (const one of others) sum += middles[one] ?? 0;
    return sum / others.length;
}

/**
 * Move the vertices of a layer, in their order and without touching, as near to where they want to be as they can be
 * together: what would overlap forms a block about the mean of its wishes (isotonic regression).
 */
function straighten(vertices: readonly Vertex[], layer: readonly number[], middles: number[], side: Side): void {
    const blocks: { wish: number; count: number }[] = [];
    const offsets: number[] = [];
    let offset = 0;
    for (const at of layer) {
        const height = vertices[at]?.height ?? 0;
        offsets.push(offset + height / 2);
        let block = { wish: wishOrStay(vertices[at], middles, at, side) - offset - height / 2, count: 1 };
        for (let last = blocks.at(-1); last !== undefined && last.wish >= block.wish; last = blocks.at(-1)) {
            blocks.pop();
            const count = last.count + block.count;
            block = { wish: (last.wish * last.count + block.wish * block.count) / count, count };
        }
        blocks.push(block);
        offset += height + GAP;
    }
    let place = 0;
    for (const { wish, count } of blocks) {
        for (const end = place + count; place < end; place++) middles[layer[place] ?? 0] = wish + (offsets[place] ?? 0);
    }
}

/** What belongs to nothing on this side stays beside what it has on the other. */
function wishOrStay(vertex: Vertex | undefined, middles: readonly number[], at: number, side: Side): number {
    return wishOf(vertex, middles, side) ?? middles[at] ?? 0;
}

function spotsOf(vertices: readonly Vertex[], layers: readonly number[][], middles: readonly number[]): Spot[] {
    const spots = vertices.map(() => ({ x: 0, y: 0 }));
    let top = Number.POSITIVE_INFINITY;
    vertices.forEach(({ height }, at) => {
        top = Math.min(top, (middles[at] ?? 0) - height / 2);
    });
    let x = 0;
    for (const layer of layers) {
        const width = layer.reduce((widest, at) => Math.max(widest, vertices[at]?.width ?? 0), 0);
        for (const at of layer) spots[at] = { x, y: (middles[at] ?? 0) - (vertices[at]?.height ?? 0) / 2 - top };
        x += width + LAYER_GAP;
    }
    return spots;
}
