// @vitest-environment node
import { describe, expect, it } from "vitest";
import {
    blocksOf,
    blocksOfColumn,
    columnsOf,
    type GridPage,
    type GridRow,
    type GridRun,
    rowsNamed,
    rowsOf,
    visibleRows,
    withFresh,
} from "./rows";

const row = (id: string, parent: string | null = null, kind: "task" | "group" = "task"): GridRow => ({
    id,
    label: id,
    kind,
    parent,
    depth: 0,
    is_mapped: false,
    operator: null,
    trigger_rule: null,
    is_setup: false,
    is_teardown: false,
    is_removed: false,
});

const run = (run_id: string, run_after: string, states: (string | null)[]): GridRun => ({
    run_id,
    run_after,
    states,
    state: "running",
    run_type: "manual",
    logical_date: null,
    queued_at: null,
    started_at: null,
    ended_at: null,
    duration: null,
    version_number: 1,
    has_note: false,
    is_backfill: false,
    counts: {},
    tries: {},
});

const page = (rows: GridRow[], runs: GridRun[]): GridPage => ({
    dag_id: "d",
    version_number: 1,
    rows,
    runs,
    next_cursor: null,
});

describe("the blocks of a column", () => {
    it("hold every row that is seen", () => {
        for (let column = 0; column < 20; column++) {
            for (let first = 0; first < 30; first++) {
                const { firstBlock, lastBlock } = blocksOfColumn(column, first, first + 40);
                expect(firstBlock * 8).toBeLessThanOrEqual(first);
                expect((lastBlock + 1) * 8).toBeGreaterThan(first + 40);
            }
        }
    });

    it("are added to an eighth of the columns with each row", () => {
        for (let last = 40; last < 60; last++) {
            const more = Array.from({ length: 64 }, (_, column) => column).filter(
                (column) => blocksOfColumn(column, 0, last + 1).lastBlock > blocksOfColumn(column, 0, last).lastBlock,
            );
            expect(more).toHaveLength(8);
        }
    });
});

describe("the grid's rows", () => {
    const rows = [row("g", null, "group"), row("g.h", "g", "group"), row("g.h.t", "g.h"), row("after")];

    it("of a closed group are hidden, with all that is deeper", () => {
        expect(visibleRows(rows, new Set(["g"])).map((one) => one.id)).toEqual(["g", "after"]);
        expect(visibleRows(rows, new Set(["g.h"])).map((one) => one.id)).toEqual(["g", "g.h", "after"]);
    });

    it("that are looked for come with the groups around them", () => {
        expect(rowsNamed(rows, "H.T").map((one) => one.id)).toEqual(["g", "g.h", "g.h.t"]);
        expect(rowsNamed(rows, "")).toEqual(rows);
    });

    it("are drawn in blocks, the last of which may be short", () => {
        expect(blocksOf(rows, 3).map((block) => block.length)).toEqual([3, 1]);
    });

    it("are those of the newest page, then what only older runs have", () => {
        const pages = [page([row("a"), row("b")], []), page([row("a"), row("old"), row("b")], [])];
        expect(rowsOf(pages).map((one) => one.id)).toEqual(["a", "b", "old"]);
    });
});

describe("the grid's columns", () => {
    it("keep each state with its task whatever the order of rows on the page", () => {
        const pages = [
            page([row("a"), row("b")], [run("r2", "2", ["success", null])]),
            page([row("b"), row("a")], [run("r1", "1", ["failed", "success"])]),
        ];
        expect(columnsOf(pages).map((one) => [...one.states])).toEqual([
            [["a", "success"]],
            [
                ["b", "failed"],
                ["a", "success"],
            ],
        ]);
    });

    it("are replaced by what was fetched anew, and preceded by new runs", () => {
        const pages = [page([row("a"), row("b")], [run("r1", "1", ["running", null])])];
        const fresh = page(
            [row("b"), row("a")],
            [run("r2", "2", ["queued", null]), run("r1", "1", [null, "success"]), run("r0", "0", ["failed", "failed"])],
        );
        expect(withFresh(pages, fresh)[0]?.runs.map((one) => [one.run_id, one.states])).toEqual([
            ["r2", [null, "queued"]],
            ["r1", ["success", null]],
        ]);
    });

    it("are taken away when the filter wants them no more", () => {
        const pages = [page([row("a")], [run("r2", "2", ["running"]), run("r1", "1", ["failed"])])];
        const fresh = withFresh(pages, page([row("a")], []), new Set(["r2"]));
        expect(fresh[0]?.runs.map((one) => one.run_id)).toEqual(["r1"]);
    });
});
