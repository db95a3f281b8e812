// @vitest-environment node
import { describe, expect, it } from "vitest";
import { cellsOf, type DayCounts, monthColumns, outcomeOf, sumsOf } from "./days";

const day = (at: string, counts: Record<string, number>, planned = 0): DayCounts => ({
    day: at,
    counts,
    planned,
    mean_seconds: null,
});

describe("the calendar", () => {
    it("has every day of the year once, weeks from Monday on", () => {
        const cells = cellsOf(2026, [day("2026-11-30", { success: 1 })]);
        expect(cells.length).toBe(365);
        expect(cells[0]).toMatchObject({ day: "2026-01-01", column: 0, row: 3 });
        const monday = cells.find((cell) => cell.day === "2026-11-30");
        expect(monday).toMatchObject({ row: 0 });
        expect(monday?.counts?.counts).toEqual({ success: 1 });
        expect(cells.find((cell) => cell.day === "2026-11-29")).toMatchObject({ row: 6 });
        expect(new Set(cells.map((cell) => `${cell.column} ${cell.row}`)).size).toBe(365);
    });

    it("has the 29th of February in a leap year, and twelve months", () => {
        const cells = cellsOf(2028, []);
        expect(cells.length).toBe(366);
        expect(monthColumns(cells).map((one) => one.month)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    });

    it("shows a failure among many successes", () => {
        expect(outcomeOf(day("d", { success: 500, failed: 1 }), 501)).toEqual({ kind: "failed", level: 1 });
        expect(outcomeOf(day("d", { failed: 2 }), 501)).toEqual({ kind: "failed", level: 3 });
    });

    it("tells busy days from quiet ones, and days to come from past ones", () => {
        expect(outcomeOf(day("d", { success: 10 }), 10)).toEqual({ kind: "success", level: 3 });
        expect(outcomeOf(day("d", { success: 1 }), 10)).toEqual({ kind: "success", level: 1 });
        expect(outcomeOf(day("d", { running: 1, success: 3 }), 10).kind).toBe("running");
        expect(outcomeOf(day("d", {}, 3), 10).kind).toBe("planned");
        expect(outcomeOf(undefined, 10).kind).toBe("none");
    });

    it("adds up", () => {
        expect(sumsOf([day("a", { success: 2 }, 1), day("b", { success: 3, failed: 1 })])).toEqual({
            counts: { success: 5, failed: 1 },
            planned: 1,
        });
    });
});
