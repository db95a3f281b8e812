import { describe, expect, it } from "vitest";
import { filtersOf, queryOf } from "./filters";

describe("the filters of the list", () => {
    it("are read from the address and asked of the server", () => {
        const filters = filtersOf(new URLSearchParams("show=paused&search=etl&tag=daily&tag=eu&order=next_run_at"));
        expect(queryOf(filters)).toEqual({
            paused: true,
            search: "etl",
            tags: ["daily", "eu"],
            owners: [],
            order_by: "next_run_at",
            limit: 50,
        });
    });

    it("are all DAGs by name where the address says nothing, or nonsense", () => {
        expect(filtersOf(new URLSearchParams("show=constructor&order=drop"))).toEqual(filtersOf(new URLSearchParams()));
    });
});
