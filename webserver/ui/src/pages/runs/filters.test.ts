import { expect, it } from "vitest";
import { filtersOf, queryOf } from "./filters";

it("what the address asks for is asked of the server, whole days of the zone", () => {
    const address = "state=failed&type=manual&dag=etl&search=x&since=2026-11-01&until=2026-11-02";
    expect(queryOf(filtersOf(new URLSearchParams(address)), "Asia/Kathmandu")).toEqual({
        limit: 50,
        state: ["failed"],
        run_type: ["manual"],
        dag_id: "etl",
        search: "x",
        since: "2026-10-31T18:15:00.000Z",
        until: "2026-11-02T18:15:00.000Z",
    });
});

it("nonsense in the address is as if it were not there", () => {
    expect(queryOf(filtersOf(new URLSearchParams("state=toString&type=x&since=yesterday")), "UTC")).toEqual({
        limit: 50,
    });
});
