import { createBrowserRouter } from "react-router";
import { BASE } from "../api/base";
import { ADMIN_ROUTES } from "../pages/admin/parts";
import { DAG_PARTS } from "../pages/dag/routes";
import { NotFound } from "../pages/not_found";
import { RUN_PARTS } from "../pages/run/routes";
import { PageError } from "./page_error";
import { Shell } from "./shell";

/** Every address of the pages. Each page is a chunk of its own, fetched when it is first looked at. */
export const router = createBrowserRouter(
    [
        {
            element: <Shell />,
            HydrateFallback: () => null,
            children: [
                {
                    // Within the frame: a page that fails leaves the way to the others.
                    errorElement: <PageError />,
                    children: [
                        { index: true, lazy: () => import("../pages/home/index") },
                        { path: "runs", lazy: () => import("../pages/runs/index") },
                        { path: "admin", lazy: () => import("../pages/admin/index"), children: ADMIN_ROUTES },
                        { path: "account", lazy: () => import("../pages/account/index") },
                        { path: "dags", lazy: () => import("../pages/dags/index") },
                        {
                            path: "dags/:dagId",
                            lazy: () => import("../pages/dag/index"),
                            children: DAG_PARTS,
                        },
                        {
                            path: "dags/:dagId/runs/:runId",
                            lazy: () => import("../pages/run/index"),
                            children: RUN_PARTS,
                        },
                        {
                            path: "dags/:dagId/runs/:runId/tasks/:taskId/:mapIndex?",
                            lazy: () => import("../pages/task/index"),
                        },
                        { path: "assets", lazy: () => import("../pages/assets/index") },
                        { path: "timeline", lazy: () => import("../pages/timeline/index") },
                        { path: "human-steps", lazy: () => import("../pages/human_steps/index") },
                        { path: "*", element: <NotFound /> },
                    ],
                },
            ],
        },
    ],
    { basename: BASE === "" ? "/" : BASE },
);
