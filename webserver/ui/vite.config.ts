import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";

// `npm run dev` serves the pages and passes on what only the server answers, so that work on them needs no build.
const server = loadEnv("development", ".", "TREADLE_").TREADLE_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
    // Relative: the server writes its base path into <base> of index.html.
    base: "./",
    plugins: [react()],
    build: { assetsDir: "bundles", target: "es2022", chunkSizeWarningLimit: 1600, sourcemap: false },
    server: {
        host: "127.0.0.1",
        proxy: Object.fromEntries(["/api", "/auth", "/ui"].map((path) => [path, { target: server }])),
    },
});
