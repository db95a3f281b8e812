import { type Box, sizeOf } from "./elk_graph";
import { inLayers, type Spot, type Vertex } from "./layers";
import { above, type SeenGraph, type SeenNode } from "./model";

/** Room within the frame of a group; its name stands above. */
const FRAME = { top: 38, side: 14 } as const;
/** Between parts that no edge joins. */
const APART = 28;
/** How much wider than high what consists of many parts becomes. */
const SHAPE = 1.6;

/**
 * Return where all of a large graph stands, each open group laid out by itself and each edge lifted to the level on
 * which its ends part. Worked out within the frame in which it is asked for.
 */
export function quickLayout({ nodes, edges }: SeenGraph): Map<string, Box> {
    const inside = grouped(nodes, (one) => one.parent);
    const links = liftedEdges(nodes, edges);
    const found = new Map<string, Box>();
    const place = (parent: string | null): { width: number; height: number } => {
        const members = inside.get(parent) ?? [];
        const sizes = members.map((one) => (isOpen(one, inside) ? place(one.node.id) : sizeOf(one)));
        const { spots, width, height } = laidOut(members, sizes, links.get(parent) ?? []);
        const inset = parent === null ? { top: 0, side: 0 } : FRAME;
        members.forEach(({ node }, at) => {
            const { x = 0, y = 0 } = spots[at] ?? {};
            const size = sizes[at] ?? { width: 0, height: 0 };
            found.set(node.id, { x: x + inset.side, y: y + inset.top, ...size });
        });
        return { width: width + 2 * inset.side, height: height + inset.top + inset.side };
    };
    place(null);
    return found;
}

function isOpen({ node, isClosed }: SeenNode, inside: ReadonlyMap<string | null, unknown>): boolean {
    return node.kind === "group" && !isClosed && inside.has(node.id);
}

type Link = readonly [source: string, target: string];

/** Return the edges of each level, every one once, between what stands on it. */
export function liftedEdges(nodes: readonly SeenNode[], edges: SeenGraph["edges"]): Map<string | null, Link[]> {
    const parents = new Map(nodes.map((one) => [one.node.id, one.parent]));
    const found = new Map<string | null, Map<string, Link>>();
    for (const { source, target } of edges) {
        const own = pathTo(source, parents);
        const other = pathTo(target, parents);
        let level = 0;
        while (level < own.length - 1 && level < other.length - 1 && own[level] === other[level]) level++;
        const [from, to] = [own[level], other[level]];
        if (from === undefined || to === undefined || from === to) continue;
        const owner = level === 0 ? null : (own[level - 1] ?? null);
        const links = found.get(owner) ?? new Map<string, Link>();
        links.set(`${from}\n${to}`, [from, to]);
        found.set(owner, links);
    }
    return new Map([...found].map(([owner, own]) => [owner, [...own.values()]]));
}

/** Return the groups around a node and itself, the outermost first. */
function pathTo(id: string, parents: ReadonlyMap<string, string | null>): string[] {
    return [id, ...above(id, parents)].reverse();
}

interface Size {
    width: number;
    height: number;
}

/** Lay the members of one level out: each part that hangs together by itself, the parts in rows. */
function laidOut(members: readonly SeenNode[], sizes: readonly Size[], links: readonly Link[]) {
    const indexes = new Map(members.map(({ node }, at) => [node.id, at]));
    const ends = links.map(([source, target]) => [indexes.get(source) ?? 0, indexes.get(target) ?? 0] as const);
    const chiefOf = chiefsOf(members.length, ends);
    const endsOf = grouped(ends, ([source]) => chiefOf(source));
    const parts = [...grouped(members.keys(), chiefOf)].map(([chief, part]) =>
        partOf(part, sizes, endsOf.get(chief) ?? []),
    );
    const area = parts.reduce((sum, one) => sum + (one.width + APART) * (one.height + APART), 0);
    const widest = parts.reduce((width, one) => Math.max(width, one.width), Math.sqrt(area * SHAPE));
    const spots: Spot[] = [];
    const size = { width: 0, height: 0 };
    const pen = { x: 0, y: 0, low: 0 };
    for (const part of parts) {
        if (pen.x > 0 && pen.x + part.width > widest) Object.assign(pen, { x: 0, y: pen.low + APART });
        part.members.forEach((at, index) => {
            const { x = 0, y = 0 } = part.spots[index] ?? {};
            spots[at] = { x: pen.x + x, y: pen.y + y };
        });
        size.width = Math.max(size.width, pen.x + part.width);
        pen.low = Math.max(pen.low, pen.y + part.height);
        pen.x += part.width + APART;
    }
    size.height = pen.low;
    return { spots, ...size };
}

type Ends = readonly (readonly [number, number])[];

/** Return what tells the first of those that edges join to a member, directly or by way of others. */
function chiefsOf(count: number, ends: Ends): (at: number) => number {
    const chief = Array.from({ length: count }, (_, at) => at);
    const above = (at: number): number => chief[at] ?? at;
    const chiefOf = (at: number): number => {
        let one = at;
        while (above(one) !== one) {
            // Halves the way for whoever asks next.
            chief[one] = above(above(one));
            one = above(one);
        }
        return one;
    };
    for (const [source, target] of ends) {
        const [one, other] = [chiefOf(source), chiefOf(target)];
        chief[Math.max(one, other)] = Math.min(one, other);
    }
    return chiefOf;
}

function partOf(members: readonly number[], sizes: readonly Size[], ends: Ends) {
    const places = new Map(members.map((at, index) => [at, index]));
    const before: number[][] = members.map(() => []);
    const after: number[][] = members.map(() => []);
    for (const [source, target] of ends) {
        const [from, to] = [places.get(source), places.get(target)];
        if (from === undefined || to === undefined) continue;
        after[from]?.push(to);
        before[to]?.push(from);
    }
    const vertices: Vertex[] = members.map((at, index) => ({
        width: sizes[at]?.width ?? 0,
        height: sizes[at]?.height ?? 0,
        before: before[index] ?? [],
        after: after[index] ?? [],
    }));
    const spots = inLayers(vertices);
    const size = { width: 0, height: 0 };
    spots.forEach(({ x, y }, index) => {
        size.width = Math.max(size.width, x + (vertices[index]?.width ?? 0));
        size.height = Math.max(size.height, y + (vertices[index]?.height ?? 0));
    });
    return { members, spots, ...size };
}

function grouped<Key, Value>(values: Iterable<Value>, keyOf: (value: Value) => Key): Map<Key, Value[]> {
    const found = new Map<Key, Value[]>();
    for (const value of values) {
        const key = keyOf(value);
        const own = found.get(key);
        if (own === undefined) found.set(key, [value]);
        else own.push(value);
    }
    return found;
}
