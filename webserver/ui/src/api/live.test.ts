import { describe, expect, it } from "vitest";
import { keys } from "./keys";
import { staleAfter } from "./live";

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
