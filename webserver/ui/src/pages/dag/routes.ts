import type { RouteObject } from "react-router";

/** The parts of a DAG's page, each a chunk of its own. */
export const DAG_PARTS: RouteObject[] = [
    { index: true, lazy: () => import("./grid/index") },
    { path: "graph", lazy: () => import("./graph/index") },
    { path: "calendar", lazy: () => import("./calendar/index") },
    { path: "runs", lazy: () => import("./runs/index") },
    { path: "tasks", lazy: () => import("./tasks/index") },
    { path: "code", lazy: () => import("./code/index") },
    { path: "details", lazy: () => import("./details/index") },
    { path: "backfills", lazy: () => import("./backfills/index") },
    { path: "audit", lazy: () => import("./audit/index") },
];
