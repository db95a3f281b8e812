import type { Got } from "../../api/client";

export type AssetGraph = Got<"/ui/assets/graph">;
export type Asset = AssetGraph["assets"][number];

/** A thing that is drawn: an asset or a DAG. */
export interface AssetNode {
    id: string;
    kind: "asset" | "alias" | "dag";
    name: string;
    /** One line below the name. */
    words: string;
    isPaused: boolean;
}

/** An arrow from who makes something to what is made, or from that to who wants it. */
export interface AssetArrow {
    id: string;
    source: string;
    target: string;
    /** Whether it starts runs; else a task only reads what the arrow is from. */
    starts: boolean;
}

export const dagNode = (dagId: string): string => `dag:${dagId}`;

/** Return the nodes of the graph, assets first. */
export function nodesOf(graph: AssetGraph): AssetNode[] {
    return [
        ...graph.assets.map((asset) => ({
            id: asset.id,
            kind: asset.kind,
            name: asset.name,
            words: asset.uri === null || asset.uri === asset.name ? (asset.group ?? "") : asset.uri,
            isPaused: false,
        })),
        ...graph.dags.map((dag) => ({
            id: dagNode(dag.dag_id),
            kind: "dag" as const,
            name: dag.name,
            words: dag.is_paused ? "DAG, paused" : "DAG",
            isPaused: dag.is_paused,
        })),
    ];
}

/** Return the arrows: one from each maker and one to each taker, however many tasks of it name the asset. */
export function arrowsOf(graph: AssetGraph): AssetArrow[] {
    const arrows = new Map<string, AssetArrow>();
    for (const edge of graph.edges) {
        const isOutlet = edge.role === "outlet";
        const source = isOutlet ? dagNode(edge.dag_id) : edge.asset;
        const target = isOutlet ? edge.asset : dagNode(edge.dag_id);
        const id = `${source}\n${target}`;
        const starts = edge.role !== "inlet" || arrows.get(id)?.starts === true;
        arrows.set(id, { id, source, target, starts });
    }
    return [...arrows.values()];
}

/** Return the nodes that `chosen` comes from and leads to, itself among them; null where nothing is chosen. */
export function kinOf(arrows: readonly AssetArrow[], chosen: string | null): Set<string> | null {
    if (chosen === null) return null;
    const kin = new Set([chosen]);
    walk(arrows, chosen, kin, "source", "target");
    walk(arrows, chosen, kin, "target", "source");
    return kin;
}

function walk(
    arrows: readonly AssetArrow[],
    from: string,
    kin: Set<string>,
    near: "source" | "target",
    far: "source" | "target",
): void {
    const seen = new Set([from]);
    const waiting = [from];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
        for (const arrow of arrows) {
            if (arrow[near] !== one || seen.has(arrow[far])) continue;
            seen.add(arrow[far]);
            kin.add(arrow[far]);
            waiting.push(arrow[far]);
        }
    }
}

/** What a DAG has and lacks of what starts it. */
export interface Waiting {
    dagId: string;
    parts: { asset: string; gathered: number; newestAt: string | null }[];
    missing: number;
}

/** Return for each DAG that assets start what has gathered, those first that lack least. */
export function waitingOf(graph: AssetGraph): Waiting[] {
    const dags = new Map<string, Waiting>();
    for (const one of graph.waiting) {
        const dag = dags.get(one.dag_id) ?? { dagId: one.dag_id, parts: [], missing: 0 };
        dags.set(one.dag_id, dag);
        dag.parts.push({ asset: one.asset, gathered: one.gathered, newestAt: one.newest_at });
        if (one.gathered === 0) dag.missing += 1;
    }
    return [...dags.values()].sort((one, other) => one.missing - other.missing || one.dagId.localeCompare(other.dagId));
}

/** Return the name in an asset's id. */
export function nameOf(id: string): string {
    return id.slice(id.indexOf(":") + 1);
}
