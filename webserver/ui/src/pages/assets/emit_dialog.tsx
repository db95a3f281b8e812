import { useState } from "react";
import { useAction } from "../../actions/use_action";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { Button } from "../../components/button";
import { Dialog } from "../../components/dialog";
import { FormError } from "../../components/faults";
import { Field, TextArea } from "../../components/field";
import { Refusable } from "../../components/refusable";
import { fromJson } from "../../forms/params";
import styles from "./assets.module.css";
import { type Asset, type AssetGraph, waitingOf } from "./model";

interface EmitDialogProps {
    asset: Asset;
    assetId: number;
    graph: AssetGraph;
    onClose: () => void;
}

/** Tells of an update of an asset by hand, having shown whom that may start. */
export function EmitDialog({ asset, assetId, graph, onClose }: EmitDialogProps) {
    const [extra, setExtra] = useState("{}");
    const [partition, setPartition] = useState("");
    const emit = useAction(
        async () => {
            const value = fromJson(extra);
            if (typeof value !== "object" || value === null || Array.isArray(value)) {
                throw new FormError([{ field: "extra", words: "An object is wanted here, such as {}" }]);
            }
            const body = {
                asset_id: assetId,
                extra: value as Record<string, unknown>,
                partition_key: partition === "" ? null : partition,
            };
            return answered(api.POST("/api/v2/assets/events", { body }));
        },
        [keys.assets, keys.dags, keys.runs],
        onClose,
    );
    const waiting = waitingOf(graph).filter((dag) => dag.parts.some((part) => part.asset === asset.id));
    return (
        <Dialog
            title={`Make an event of ${asset.name}`}
            onClose={onClose}
            actions={
                <Button look="main" disabled={emit.isPending} onClick={() => emit.mutate()}>
                    Make an event of {asset.name}
                </Button>
            }
        >
            <Refusable error={emit.error} className={styles.form}>
                {waiting.length === 0 ? (
                    <p>No DAG waits for this asset.</p>
                ) : (
                    <ul className={styles.effects}>
                        {waiting.map((dag) => (
                            <li key={dag.dagId}>{effectOn(dag.dagId, dag.parts, asset.id)}</li>
                        ))}
                    </ul>
                )}
                <TextArea
                    label="Extra"
                    name="extra"
                    hint="A JSON object that the runs it starts can read"
                    value={extra}
                    onChange={(event) => setExtra(event.target.value)}
                />
                <Field
                    label="Partition"
                    name="partition_key"
                    hint="Left empty: the event is of the whole asset"
                    value={partition}
                    onChange={(event) => setPartition(event.target.value)}
                />
            </Refusable>
        </Dialog>
    );
}

function effectOn(dagId: string, parts: readonly { asset: string; gathered: number }[], assetId: string): string {
    const missing = parts.filter((part) => part.gathered === 0 && part.asset !== assetId).length;
    if (missing === 0) return `${dagId} has all that starts it with this event.`;
    return `${dagId} goes on waiting: ${missing} of its ${parts.length} assets ${missing === 1 ? "has" : "have"} no event.`;
}
