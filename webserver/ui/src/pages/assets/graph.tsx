import { useQuery } from "@tanstack/react-query";
import {
    Background,
    Controls,
    type Edge,
    Handle,
    MarkerType,
    type Node,
    type NodeProps,
    Position,
    ReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { useMemo } from "react";
import { LOOKED_AT } from "../../components/looked_at";
import { ErrorNote, Skeleton } from "../../components/notes";
import styles from "./assets.module.css";
import { layOut } from "./layout";
import { type AssetArrow, type AssetNode, kinOf } from "./model";

interface NodeData extends Record<string, unknown> {
    node: AssetNode;
    isFaint: boolean;
    isChosen: boolean;
    onChoose: (id: string | null) => void;
}

type FlowNode = Node<NodeData, "asset">;

const NODE_TYPES = { asset: DrawnNode };
const SIGNS = { asset: "◆", alias: "◇", dag: "▤" } as const;

interface GraphProps {
    nodes: readonly AssetNode[];
    arrows: readonly AssetArrow[];
    chosen: string | null;
    onChoose: (id: string | null) => void;
}

/** Assets and the DAGs that make and take them, from left to right. */
export function Graph({ nodes, arrows, chosen, onChoose }: GraphProps) {
    // Laid out anew when something came or went, not with every event.
    const shape = useMemo(() => [nodes.map((one) => one.id), arrows.map((one) => one.id)], [nodes, arrows]);
    const layout = useQuery({ queryKey: ["asset-layout", shape], queryFn: () => layOut(nodes, arrows) });
    const places = layout.data;
    const kin = useMemo(() => kinOf(arrows, chosen), [arrows, chosen]);
    const flow = useMemo(
        () =>
            places === undefined
                ? null
                : { nodes: flowNodes(nodes, places, kin, chosen, onChoose), edges: flowEdges(arrows, kin) },
        [places, nodes, arrows, kin, chosen, onChoose],
    );
    if (layout.isError) return <ErrorNote error={layout.error} />;
    if (flow === null) return <Skeleton height="30rem" />;
    return (
        <div className={styles.canvas}>
            <ReactFlow<FlowNode, Edge>
                nodes={flow.nodes}
                edges={flow.edges}
                nodeTypes={NODE_TYPES}
                fitView
                fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
                minZoom={0.05}
                {...LOOKED_AT}
                onPaneClick={() => onChoose(null)}
                aria-label="Graph of assets"
            >
                <Background gap={24} size={1} />
                <Controls showInteractive={false} />
            </ReactFlow>
        </div>
    );
}

function DrawnNode({ data: { node, isFaint, isChosen, onChoose } }: NodeProps<FlowNode>) {
    return (
        <button
            type="button"
            className={styles.node}
            data-kind={node.kind}
            data-faint={isFaint || undefined}
            aria-pressed={isChosen}
            title={node.name}
            onClick={() => onChoose(isChosen ? null : node.id)}
        >
            <Handle type="target" position={Position.Left} isConnectable={false} />
            <span>
                <i aria-hidden="true">{SIGNS[node.kind]}</i> {node.name}
            </span>
            <small>{node.words}</small>
            <Handle type="source" position={Position.Right} isConnectable={false} />
        </button>
    );
}

function flowNodes(
    nodes: readonly AssetNode[],
    places: ReadonlyMap<string, { x: number; y: number }>,
    kin: ReadonlySet<string> | null,
    chosen: string | null,
    onChoose: (id: string | null) => void,
): FlowNode[] {
    return nodes.map((node) => ({
        id: node.id,
        type: "asset",
        position: places.get(node.id) ?? { x: 0, y: 0 },
        data: { node, isFaint: kin !== null && !kin.has(node.id), isChosen: chosen === node.id, onChoose },
    }));
}

function flowEdges(arrows: readonly AssetArrow[], kin: ReadonlySet<string> | null): Edge[] {
    return arrows.map((arrow) => {
        const isKin = kin?.has(arrow.source) === true && kin.has(arrow.target);
        const classes = [arrow.starts ? "" : "reads", kin === null ? "" : isKin ? "kin" : "faint"];
        return {
            id: arrow.id,
            source: arrow.source,
            target: arrow.target,
            className: classes.join(" "),
            markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
        };
    });
}
