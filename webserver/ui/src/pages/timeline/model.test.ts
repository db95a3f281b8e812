import { describe, expect, it } from "vitest";
import { outlineOf, peakOf, placeIn, rowsOf, windowOf } from "./model";

const at = (minute: number) => new Date(Date.UTC(2026, 10, 30, 12, minute)).toISOString();
const run = (dagId: string, from: number, to: number | null) => ({
    dag_id: dagId,
    run_id: `${dagId}-${from}`,
    state: to === null ? "running" : "success",
    run_type: "scheduled",
    queued_at: at(from),
    started_at: at(from),
    ended_at: to === null ? null : at(to),
});
const NOW = Date.parse(at(30));

describe("rows of the timeline", () => {
    it("have runs that overlap in lanes of their own, and use a lane again once it is free", () => {
        const rows = rowsOf({ runs: [run("a", 20, 25), run("a", 0, 10), run("a", 5, 15)], forecast: null }, NOW);
        expect(rows[0]?.bars.map((bar) => [bar.run.run_id, bar.lane])).toEqual([
            ["a-0", 0],
            ["a-5", 1],
            ["a-20", 0],
        ]);
        expect(rows[0]?.lanes).toBe(2);
    });

    it("let what runs last until now, and hold DAGs that will only run", () => {
        const forecast = {
            now: at(30),
            until: at(59),
            known_until: at(59),
            hours: [],
            runs: [{ dag_id: "b", run_after: at(45) }],
            unknown: [],
        };
        const rows = rowsOf({ runs: [run("c", 20, null)], forecast }, NOW);
        expect(rows.map((row) => row.dagId)).toEqual(["b", "c"]);
        expect(rows[0]?.planned).toEqual([Date.parse(at(45))]);
        expect(rows[1]?.bars[0]?.to).toBe(NOW);
    });

    it("never have more than a few lanes", () => {
        const many = Array.from({ length: 40 }, (_, one) => run("a", one, 59));
        expect(rowsOf({ runs: many, forecast: null }, NOW)[0]?.lanes).toBe(5);
    });
});

describe("the window", () => {
    it("has what lies outside at its edges", () => {
        const place = placeIn(100, 200);
        expect([50, 100, 150, 250].map(place)).toEqual([0, 0, 50, 100]);
    });

    it("stays the same for minutes", () => {
        const middle = Date.parse(at(30));
        expect(windowOf(6, middle + 60_000)).toEqual(windowOf(6, middle));
        expect(windowOf(6, middle).until - windowOf(6, middle).since).toBe(6 * 3_600_000);
    });
});

describe("outlineOf", () => {
    it("has steps, and stays below the limit", () => {
        expect(outlineOf([2, 8], 4, 10)).toBe("0,10 0.000,5.00 50.000,5.00 50.000,0.00 100.000,0.00 100,10");
    });
});

describe("peakOf", () => {
    it("tells the most that was held in words that hold for none, a trace and many", () => {
        expect(peakOf([], 8)).toBe("not used");
        expect(peakOf([0, 0], 8)).toBe("not used");
        expect(peakOf([0, 0.02], 8)).toBe("peak < 0.1 of 8");
        expect(peakOf([1, 2.06], 128)).toBe("peak 2.1 of 128");
        expect(peakOf([3], null)).toBe("peak 3 slots");
    });
});
