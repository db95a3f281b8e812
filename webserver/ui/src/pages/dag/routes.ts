import type { RouteObject } from "react-router";

/** The parts of a DAG's page, each a chunk of its own. */
export const DAG_PARTS: RouteObject[] = [
    { index: true, lazy: () => import("./grid/index") },
    { path: "graph", lazy: () => import("./graph/index") },
];
