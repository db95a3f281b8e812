import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { EmptyNote, Skeleton } from "../../components/notes";
import { PageHead } from "../../components/page";
import { QueryError } from "../../components/query_error";
import { SearchTabs } from "../../components/search_tabs";
import { useAddress } from "../dag/use_address";
import styles from "./assets.module.css";
import { ChosenAsset, Events } from "./chosen_asset";
import { ChosenDag } from "./chosen_dag";
import { Graph } from "./graph";
import { type AssetGraph, arrowsOf, dagNode, nodesOf } from "./model";
import { WaitingTable } from "./waiting_table";

const TABS = [
    { name: "graph", label: "Graph" },
    { name: "waiting", label: "Who waits for what" },
    { name: "events", label: "Events" },
];

/** Assets across all DAGs: who makes and who takes them, what waits for them, and their events. */
export function Component() {
    const [address] = useAddress();
    const graph = useQuery({
        queryKey: [...keys.assets, "graph"],
        queryFn: () => answered(api.GET("/ui/assets/graph")),
    });
    const shown = address.get("show") ?? "graph";
    return (
        <div className={styles.page}>
            <PageHead title="Assets" />
            <SearchTabs label="Parts of the page" param="show" tabs={TABS} />
            {graph.isLoadingError && <QueryError error={graph.error} />}
            {graph.isPending && <Skeleton height="30rem" />}
            {graph.data !== undefined && shown === "graph" && <GraphWithChosen graph={graph.data} />}
            {graph.data !== undefined && shown === "waiting" && <WaitingTable graph={graph.data} />}
            {shown === "events" && <Events assetId={null} />}
        </div>
    );
}

function GraphWithChosen({ graph }: { graph: AssetGraph }) {
    const [address, change] = useAddress();
    const wanted = address.get("asset");
    const choose = useCallback((id: string | null) => change({ asset: id }), [change]);
    const nodes = useMemo(() => nodesOf(graph), [graph]);
    const arrows = useMemo(() => arrowsOf(graph), [graph]);
    // An asset that is gone is nobody's kin: nothing would be drawn in full.
    const chosen = nodes.some((one) => one.id === wanted) ? wanted : null;
    const asset = graph.assets.find((one) => one.id === chosen);
    const dag = graph.dags.find((one) => dagNode(one.dag_id) === chosen);
    if (nodes.length === 0) {
        return (
            <EmptyNote title="No assets yet">
                <p>Give a task outlets, or a DAG a schedule of assets; both are drawn here.</p>
            </EmptyNote>
        );
    }
    return (
        <>
            {graph.is_truncated && <p className={styles.soft}>There are more assets than are drawn.</p>}
            <Graph nodes={nodes} arrows={arrows} chosen={chosen} onChoose={choose} />
            {dag !== undefined && <ChosenDag dag={dag} graph={graph} />}
            {asset !== undefined && <ChosenAsset asset={asset} graph={graph} />}
        </>
    );
}
