import { describe, expect, it } from "vitest";
import { type AssetGraph, arrowsOf, kinOf, nameOf, waitingOf } from "./model";

const asset = (name: string) => ({
    id: `asset:${name}`,
    kind: "asset" as const,
    name,
    uri: name,
    group: "asset",
    asset_id: 1,
    last_event_at: null,
    last_event_dag_id: null,
    last_event_run_id: null,
});
const dag = (id: string) => ({ dag_id: id, name: id, is_paused: false });
const GRAPH: AssetGraph = {
    assets: [asset("a"), asset("b")],
    dags: [dag("load"), dag("mix"), dag("show")],
    edges: [
        { asset: "asset:a", dag_id: "load", task_id: "t", role: "outlet" },
        { asset: "asset:a", dag_id: "load", task_id: "u", role: "outlet" },
        { asset: "asset:a", dag_id: "mix", task_id: "read", role: "inlet" },
        { asset: "asset:a", dag_id: "mix", task_id: null, role: "schedule" },
        { asset: "asset:b", dag_id: "mix", task_id: "w", role: "outlet" },
        { asset: "asset:b", dag_id: "show", task_id: "read", role: "inlet" },
    ],
    waiting: [
        { dag_id: "mix", asset: "asset:a", gathered: 0, newest_at: null },
        { dag_id: "show", asset: "asset:b", gathered: 2, newest_at: null },
    ],
    is_truncated: false,
};

describe("the graph of assets", () => {
    it("has one arrow between two, which starts runs if one of its tasks' roles does", () => {
        expect(arrowsOf(GRAPH).map((arrow) => [arrow.source, arrow.target, arrow.starts])).toEqual([
            ["dag:load", "asset:a", true],
            ["asset:a", "dag:mix", true],
            ["dag:mix", "asset:b", true],
            ["asset:b", "dag:show", false],
        ]);
    });

    it("tells what something comes from and leads to, and not what merely shares these", () => {
        expect([...(kinOf(arrowsOf(GRAPH), "dag:mix") ?? [])].sort()).toEqual([
            "asset:a",
            "asset:b",
            "dag:load",
            "dag:mix",
            "dag:show",
        ]);
        expect(kinOf(arrowsOf(GRAPH), null)).toBeNull();
    });

    it("puts first who lacks least", () => {
        expect(waitingOf(GRAPH).map((one) => [one.dagId, one.missing])).toEqual([
            ["show", 0],
            ["mix", 1],
        ]);
    });

    it("keeps colons in names", () => {
        expect(nameOf("asset:s3://shop")).toBe("s3://shop");
    });
});
