// @vitest-environment node
import { describe, expect, it } from "vitest";
import type { Box } from "./elk_graph";
import type { GraphNode, SeenGraph } from "./model";
import { node } from "./nodes_for_tests";
import { liftedEdges, quickLayout } from "./quick_layout";

const seen = (id: string, parent: string | null = null, kind: GraphNode["kind"] = "task") => ({
    node: node(id, parent, kind),
    parent,
    isClosed: false,
    tasks: 0,
});
const graph = (nodes: ReturnType<typeof seen>[], pairs: [string, string][]): SeenGraph => ({
    nodes,
    edges: pairs.map(([source, target]) => ({ source, target, kind: "task", label: null })),
});
const at = (boxes: Map<string, Box>, id: string): Box =>
    boxes.get(id) ?? { x: Number.NaN, y: Number.NaN, width: 0, height: 0 };
const touch = (one: Box, other: Box) =>
    one.x < other.x + other.width &&
    other.x < one.x + one.width &&
    one.y < other.y + other.height &&
    other.y < one.y + one.height;

/** A DAG of tasks that each wait for some before it, the same each time that `seed` is. */
function random(count: number, seed: number): SeenGraph {
    let state = seed;
    const next = (below: number) => {
        state = (state * 1103515245 + 12345) % 2147483648;
        return Math.floor((state / 2147483648) * below);
    };
    const nodes = Array.from({ length: count }, (_, number) => seen(`t${number}`));
    const pairs = new Set<string>();
    for (let number = 1; number < count; number++)
        for (let more = next(3); more > 0; more--) pairs.add(`t${next(number)} t${number}`);
    return graph(
        nodes,
        [...pairs].map((pair) => pair.split(" ") as [string, string]),
    );
}

describe("the layout of a large graph", () => {
    it("puts what waits to the right of all that it waits for, and nothing over anything else", () => {
        for (const seed of [1, 2, 3]) {
            const shape = random(60, seed);
            const boxes = quickLayout(shape);
            const all = [...boxes.values()];
            const isLeft = ({ source, target }: { source: string; target: string }) =>
                at(boxes, target).x <= at(boxes, source).x + at(boxes, source).width;
            expect(all.length).toBe(60);
            expect(shape.edges.filter(isLeft)).toEqual([]);
            expect(all.filter((one, index) => all.slice(index + 1).some((other) => touch(one, other)))).toEqual([]);
        }
    });

    it("untangles lines that would cross, and makes a chain straight", () => {
        const boxes = quickLayout(
            graph(
                ["a", "b", "c", "x", "y", "z", "end"].map((id) => seen(id)),
                [
                    ["a", "z"],
                    ["b", "y"],
                    ["c", "x"],
                    ["x", "end"],
                    ["y", "end"],
                    ["z", "end"],
                ],
            ),
        );
        for (const [source, target] of ["az", "by", "cx"])
            expect(at(boxes, `${source}`).y).toBe(at(boxes, `${target}`).y);
        expect(at(boxes, "end").y).toBe(at(boxes, "b").y);
    });

    it("packs tasks that nothing joins into a block instead of a column", () => {
        const boxes = [
            ...quickLayout(
                graph(
                    Array.from({ length: 100 }, (_, one) => seen(`t${one}`)),
                    [],
                ),
            ).values(),
        ];
        const width = Math.max(...boxes.map((one) => one.x + one.width));
        const height = Math.max(...boxes.map((one) => one.y + one.height));
        expect(width / height).toBeGreaterThan(1);
        expect(width / height).toBeLessThan(2.5);
    });

    it("keeps what is in a group within its frame, below its name", () => {
        const boxes = quickLayout(
            graph(
                [
                    seen("a"),
                    seen("g", null, "group"),
                    seen("g.b", "g"),
                    seen("g.h", "g", "group"),
                    seen("g.h.c", "g.h"),
                ],
                [
                    ["a", "g.h.c"],
                    ["g.b", "g.h.c"],
                ],
            ),
        );
        expect(at(boxes, "g").x).toBeGreaterThan(at(boxes, "a").x + at(boxes, "a").width);
        expect(at(boxes, "g.h").x).toBeGreaterThan(at(boxes, "g.b").x + at(boxes, "g.b").width);
        expect(at(boxes, "g.h").x + at(boxes, "g.h").width).toBeLessThan(at(boxes, "g").width);
        expect(at(boxes, "g.b").y).toBeGreaterThanOrEqual(38);
    });

    it("is made of groups that wait for each other in a circle, too", () => {
        const boxes = quickLayout(
            graph(
                ["a", "b", "c"].map((id) => seen(id)),
                [
                    ["a", "b"],
                    ["b", "c"],
                    ["c", "b"],
                ],
            ),
        );
        expect(at(boxes, "b").x).toBeGreaterThan(at(boxes, "a").x);
        expect(touch(at(boxes, "b"), at(boxes, "c"))).toBe(false);
    });

    it("lifts an edge between two groups to the groups, once", () => {
        const nodes = [
            seen("g", null, "group"),
            seen("g.a", "g"),
            seen("g.b", "g"),
            seen("h", null, "group"),
            seen("h.c", "h"),
        ];
        const shape = graph(nodes, [
            ["g.a", "h.c"],
            ["g.b", "h.c"],
            ["g.a", "g.b"],
        ]);
        expect([...liftedEdges(shape.nodes, shape.edges)]).toEqual([
            [null, [["g", "h"]]],
            ["g", [["g.a", "g.b"]]],
        ]);
    });
});
