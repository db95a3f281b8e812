// @vitest-environment node
import Elk from "elkjs/lib/elk.bundled.js";
import { describe, expect, it } from "vitest";
import { boxesOf, edgeId, elkGraphOf, roundedPath, routesOf } from "./elk_graph";
import { type GraphEdge, type GraphNode, type GraphShape, groupsAround, kinOf, seenOf } from "./model";
import { node } from "./nodes_for_tests";

const edge = (source: string, target: string, label: string | null = null): GraphEdge => ({
    source,
    target,
    label,
    kind: "task",
});
const graph = (nodes: GraphNode[], edges: GraphEdge[]): GraphShape => ({
    dag_id: "d",
    version_number: 1,
    nodes,
    edges,
});

const nested = graph(
    [node("a"), node("g", null, "group"), node("g.b", "g"), node("g.h", "g", "group"), node("g.h.c", "g.h"), node("d")],
    [edge("a", "g.b", "all"), edge("a", "g.h.c"), edge("g.b", "g.h.c"), edge("g.h.c", "d"), edge("g.b", "d")],
);
const pairs = (shape: GraphShape, folded: string[]) =>
    seenOf(shape, new Set(folded)).edges.map((one) => `${one.source}>${one.target}`);

describe("what is seen of a graph", () => {
    it("is a closed group in place of all that is in it, with each edge once and none within", () => {
        expect(seenOf(nested, new Set(["g"])).nodes.map((one) => [one.node.id, one.tasks])).toEqual([
            ["a", 0],
            ["g", 2],
            ["d", 0],
        ]);
        expect(pairs(nested, ["g"])).toEqual(["a>g", "g>d"]);
        expect(seenOf(nested, new Set(["g"])).edges[0]?.label).toBe("all");
    });

    it("is the inner group where only that is closed", () => {
        expect(pairs(nested, ["g.h"])).toEqual(["a>g.b", "a>g.h", "g.b>g.h", "g.h>d", "g.b>d"]);
    });

    it("is the outer group where both are closed", () => {
        expect(pairs(nested, ["g", "g.h"])).toEqual(["a>g", "g>d"]);
    });

    it("shows what a task waits for and what waits for it", () => {
        const { edges } = seenOf(nested, new Set());
        expect([...kinOf(edges, "g.b")].sort()).toEqual(["a", "d", "g.b", "g.h.c"]);
        expect([...kinOf(edges, "d")]).toContain("a");
        expect(groupsAround(nested.nodes, "g.h.c")).toEqual(["g.h", "g"]);
    });
});

describe("the layout", () => {
    it("puts what waits to the right of what it waits for, and what is in a group within its frame", async () => {
        const boxes = boxesOf(await new Elk().layout(elkGraphOf(seenOf(nested, new Set()))));
        const at = (id: string) => boxes.get(id) ?? { x: Number.NaN, y: Number.NaN, width: 0, height: 0 };
        expect(at("g").x).toBeGreaterThan(at("a").x + at("a").width);
        expect(at("d").x).toBeGreaterThan(at("g").x + at("g").width);
        expect(at("g.h").x).toBeGreaterThan(at("g.b").x);
        expect(at("g.h").x + at("g.h").width).toBeLessThanOrEqual(at("g").width);
    });

    it("is found for edges that leave a group before what stands above it in the file", async () => {
        const outlet = graph(
            [
                node("r", null, "group"),
                node("r.full", "r"),
                node("r.short", "r"),
                node("p"),
                node("asset:x", null, "asset"),
            ],
            [edge("r.short", "p"), edge("r.full", "p"), edge("r.full", "asset:x"), edge("asset:x", "r.short")],
        );
        expect(boxesOf(await new Elk().layout(elkGraphOf(seenOf(outlet, new Set())))).size).toBe(5);
    });

    it("tells where edges bend, on the whole canvas", async () => {
        const laidOut = await new Elk().layout(elkGraphOf(seenOf(nested, new Set())));
        const routes = routesOf(laidOut);
        const boxes = boxesOf(laidOut);
        const end = routes.get(edgeId("g.b", "d"))?.points.at(-1);
        expect(end?.x).toBeCloseTo(boxes.get("d")?.x ?? 0, 0);
        expect(routes.get(edgeId("a", "g.b"))?.label).not.toBeNull();
    });
});

it("a line through points turns in rounded corners", () => {
    const path = roundedPath([
        { x: 0, y: 0 },
        { x: 20, y: 0 },
        { x: 20, y: 4 },
    ]);
    expect(path).toBe("M0,0L12,0Q20,0 20,2L20,4");
});
