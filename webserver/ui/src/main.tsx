import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router";
import { queries } from "./api/queries";
import { PreferencesProvider } from "./app/preferences";
import { router } from "./app/router";
import "./app/tokens.css";
import "./app/base.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id 'root'");

createRoot(root).render(
    <StrictMode>
        <PreferencesProvider>
            <QueryClientProvider client={queries}>
                <RouterProvider router={router} />
            </QueryClientProvider>
        </PreferencesProvider>
    </StrictMode>,
);
