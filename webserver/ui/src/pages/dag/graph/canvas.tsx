import { Background, Controls, MiniMap, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { type RefObject, useDeferredValue, useEffect, useMemo, useRef } from "react";
import { LOOKED_AT } from "../../../components/looked_at";
import { colourOf } from "../../../components/state";
import { RoutedEdge } from "./edge";
import { type FlowEdge, type FlowNode, flowEdges, flowNodes, middleOf, sizeOf } from "./flow";
import styles from "./graph.module.css";
import type { Layout } from "./layout";
import { NODE_TYPES } from "./nodes";
import { useSeen } from "./run_states";

/** Below this the names can no longer be read, so a graph that would need it is shown from its beginning. */
const LEGIBLE = 0.7;
/** From how many nodes on a map helps to find one's way. */
const MAPPED = 40;

const EDGE_TYPES = { routed: RoutedEdge };

interface CanvasProps {
    layout: Layout;
}

/** The graph as a drawing that can be moved and zoomed. */
export function Canvas(props: CanvasProps) {
    return (
        <ReactFlowProvider>
            <Drawing {...props} />
        </ReactFlowProvider>
    );
}

function Drawing({ layout }: CanvasProps) {
    const { kin, states } = useSeen();
    const frame = useRef<HTMLDivElement>(null);
    const nodes = useMemo(() => flowNodes(layout.graph, layout.boxes), [layout]);
    const edges = useMemo(() => flowEdges(layout.graph.edges, layout.routes, kin), [layout, kin]);
    // A map of much takes longer to draw than the part that is seen, so it comes after it.
    const hasMap = useDeferredValue(nodes.length >= MAPPED, false);
    useView(frame, layout);
    return (
        <div ref={frame} className={styles.canvas}>
            <div className={styles.inner}>
                <ReactFlow<FlowNode, FlowEdge>
                    nodes={nodes}
                    edges={edges}
                    nodeTypes={NODE_TYPES}
                    edgeTypes={EDGE_TYPES}
                    minZoom={0.02}
                    {...LOOKED_AT}
                    zIndexMode="manual"
                    aria-label="Graph of tasks"
                >
                    <Background gap={24} size={1} />
                    <Controls showInteractive={false} />
                    {hasMap && (
                        <MiniMap<FlowNode>
                            pannable
                            zoomable
                            ariaLabel="The whole graph, small"
                            nodeColor={(node) => colourOf(states?.[node.id]?.state ?? "none")}
                        />
                    )}
                </ReactFlow>
            </div>
        </div>
    );
}

/** Shows the whole where it is legible, else its beginning; and what is chosen in the middle. */
function useView(frame: RefObject<HTMLDivElement | null>, layout: Layout) {
    const flow = useReactFlow();
    const { chosen } = useSeen();
    const shown = useRef<Layout | null>(null);
    const { viewportInitialized: isReady } = flow;
    useEffect(() => {
        if (!isReady) return;
        const { graph, boxes } = layout;
        const middle = chosen === null ? null : middleOf(graph, boxes, chosen);
        if (middle !== null) {
            void flow.setCenter(middle.x, middle.y, { zoom: Math.max(flow.getZoom(), 0.8) });
        } else if (shown.current !== layout && frame.current !== null) {
            void flow.setViewport(viewOf(sizeOf(boxes, graph), frame.current.getBoundingClientRect()));
        }
        shown.current = layout;
    }, [flow, isReady, frame, layout, chosen]);
}

interface Size {
    width: number;
    height: number;
}

function viewOf({ width, height }: Size, room: Size): { x: number; y: number; zoom: number } {
    const zoom = Math.max(Math.min((room.width - 48) / width, (room.height - 48) / height, 1), LEGIBLE);
    // In the middle where it fits, else from its beginning.
    return {
        x: Math.max(24, (room.width - width * zoom) / 2),
        y: Math.max(24, (room.height - height * zoom) / 2),
        zoom,
    };
}
