import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { Moment } from "../../components/clock";
import { Fact, Facts } from "../../components/facts";
import { dagPath } from "../../components/links";
import { EmptyNote, Skeleton } from "../../components/notes";
import { Panel } from "../../components/page";
import { QueryError } from "../../components/query_error";
import { EventTable } from "../task/asset_events";
import styles from "./assets.module.css";
import { EmitDialog } from "./emit_dialog";
import type { Asset, AssetGraph } from "./model";

/** What is known of the asset that is chosen, and its newest events. */
export function ChosenAsset({ asset, graph }: { asset: Asset; graph: AssetGraph }) {
    const me = useMe();
    const [isEmitting, setEmitting] = useState(false);
    const { asset_id: assetId } = asset;
    const rolesOf = (role: string) => [
        ...new Set(graph.edges.filter((edge) => edge.asset === asset.id && edge.role === role).map((e) => e.dag_id)),
    ];
    return (
        <Panel title={asset.name}>
            <Facts>
                {asset.uri !== null && asset.uri !== asset.name && <Fact name="Address">{asset.uri}</Fact>}
                <Fact name="Last event">
                    <Moment at={asset.last_event_at} />
                </Fact>
                <Fact name="Made by">
                    <Dags ids={rolesOf("outlet")} none="nobody here" />
                </Fact>
                <Fact name="Starts">
                    <Dags ids={rolesOf("schedule")} none="no DAG" />
                </Fact>
                <Fact name="Read by">
                    <Dags ids={rolesOf("inlet")} none="no task" />
                </Fact>
            </Facts>
            {assetId !== null && may(me, "trigger runs") && (
                <Button className={styles.emit} onClick={() => setEmitting(true)}>
                    Make an event…
                </Button>
            )}
            {assetId !== null && isEmitting && (
                <EmitDialog asset={asset} assetId={assetId} graph={graph} onClose={() => setEmitting(false)} />
            )}
            {assetId !== null && <Events assetId={assetId} />}
        </Panel>
    );
}

function Dags({ ids, none }: { ids: readonly string[]; none: string }) {
    if (ids.length === 0) return none;
    return (
        <span className={styles.links}>
            {ids.map((id) => (
                <Link key={id} to={dagPath(id)}>
                    {id}
                </Link>
            ))}
        </span>
    );
}

/** The newest events of an asset, or of all. */
export function Events({ assetId }: { assetId: number | null }) {
    const events = useQuery({
        queryKey: [...keys.assets, "events", assetId],
        queryFn: () =>
            answered(
                api.GET("/api/v2/assets/events", {
                    params: {
                        query: {
                            limit: 50,
                            order_by: ["-timestamp"],
                            ...(assetId === null ? {} : { asset_id: assetId }),
                        },
                    },
                }),
            ),
    });
    if (events.isLoadingError) return <QueryError error={events.error} />;
    if (events.data === undefined) return <Skeleton height="8rem" />;
    if (events.data.asset_events.length === 0 && assetId !== null) return <p className={styles.soft}>No events yet.</p>;
    if (events.data.asset_events.length === 0) {
        return (
            <EmptyNote title="No events yet">
                <p>A task makes one for each of its outlets when it succeeds; the graph makes one by hand.</p>
            </EmptyNote>
        );
    }
    return <EventTable events={events.data.asset_events} />;
}
