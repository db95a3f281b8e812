import { createBrowserRouter } from "react-router";
import { BASE } from "../api/base";
import { DAG_PARTS } from "../pages/dag/routes";
import { NotFound } from "../pages/not_found";
import { Shell } from "./shell";

/** Every address of the pages. Each page is a chunk of its own, fetched when it is first looked at. */
export const router = createBrowserRouter(
    [
        {
            element: <Shell />,
            HydrateFallback: () => null,
            children: [
                { index: true, lazy: () => import("../pages/home/index") },
                { path: "dags", lazy: () => import("../pages/dags/index") },
                {
                    path: "dags/:dagId",
                    lazy: () => import("../pages/dag/index"),
                    children: DAG_PARTS,
                },
                { path: "dags/:dagId/runs/:runId/tasks/:taskId/:mapIndex?", lazy: () => import("../pages/task/index") },
                { path: "*", element: <NotFound /> },
            ],
        },
    ],
    { basename: BASE === "" ? "/" : BASE },
);
