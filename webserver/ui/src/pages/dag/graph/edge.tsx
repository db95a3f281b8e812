import { BaseEdge, EdgeLabelRenderer, type EdgeProps, getBezierPath } from "@xyflow/react";
import { memo } from "react";
import { roundedPath } from "./elk_graph";
import type { FlowEdge } from "./flow";
import styles from "./graph.module.css";

/** An edge along the route that the layout found, or a plain curve where it found none. */
export const RoutedEdge = memo(function RoutedEdge(props: EdgeProps<FlowEdge>) {
    const { data, markerEnd } = props;
    const route = data?.route;
    const [curve, x, y] = getBezierPath(props);
    const path = route === undefined ? curve : roundedPath(route.points);
    const at = route?.label ?? { x, y };
    return (
        <>
            <BaseEdge path={path} {...(markerEnd === undefined ? {} : { markerEnd })} />
            {data !== undefined && data.label !== null && (
                <EdgeLabelRenderer>
                    <span
                        className={styles.label}
                        style={{ transform: `translate(-50%, -50%) translate(${at.x}px, ${at.y}px)` }}
                    >
                        {data.label}
                    </span>
                </EdgeLabelRenderer>
            )}
        </>
    );
});
