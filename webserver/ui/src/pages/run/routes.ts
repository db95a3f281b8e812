import type { RouteObject } from "react-router";

/** The parts of a run's page, each a chunk of its own. */
export const RUN_PARTS: RouteObject[] = [
    { index: true, lazy: () => import("./tasks/index") },
    { path: "graph", lazy: () => import("./graph/index") },
    { path: "gantt", lazy: () => import("./gantt/index") },
    { path: "events", lazy: () => import("./events/index") },
];
