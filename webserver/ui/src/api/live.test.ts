import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { describe, expect, it, vi } from "vitest";
import { keys } from "./keys";
import { askAgain, staleAfter } from "./live";

const NOTHING = { runs: [], dags: [], kinds: [] };

describe("staleAfter", () => {
    it("names the run that changed and what shows runs of all DAGs, and no other DAG", () => {
        const run = { dag_id: "etl", run_id: "r1", state: "running", tasks: true };
        const stale = staleAfter({ ...NOTHING, runs: [run] });
        expect(stale).toContainEqual(keys.run("etl", "r1"));
        expect(stale).toContainEqual(keys.home);
        expect(stale).not.toContainEqual(keys.dag("etl"));
    });

    it("names all of a DAG of which so much changed that its runs are not named", () => {
        expect(staleAfter({ ...NOTHING, dags: ["etl"] })).toContainEqual(keys.dag("etl"));
    });

    it("names everything when any DAG may have changed", () => {
        expect(staleAfter({ ...NOTHING, dags: null })).toEqual([[]]);
    });

    it("leaves runs alone when only a pool changed", () => {
        expect(staleAfter({ ...NOTHING, kinds: ["pool"] })).not.toContainEqual(keys.runs);
    });
});

describe("askAgain", () => {
    it("asks for what is looked at and could not be read, once the server is there again", async () => {
        const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
        let isThere = false;
        const asked = { broken: 0, well: 0, left: 0 };
        const look = (name: keyof typeof asked) =>
            new QueryObserver(queries, {
                queryKey: [name],
                queryFn: () => {
                    asked[name] += 1;
                    if (isThere || name === "well") return name;
                    throw new Error("away");
                },
            });
        const stops = [look("broken"), look("well"), look("left")].map((one) => one.subscribe(() => undefined));
        await vi.waitFor(() => expect(queries.isFetching()).toBe(0));
        stops[2]?.();
        isThere = true;
        await askAgain(queries);
        expect(asked).toEqual({ broken: 2, well: 1, left: 1 });
        expect(queries.getQueryData(["broken"])).toBe("broken");
        for (const stop of stops) stop();
    });
});
