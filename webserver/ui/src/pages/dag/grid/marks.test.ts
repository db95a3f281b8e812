// @vitest-environment node
import { describe, expect, it } from "vitest";
import { marksOf } from "./marks";

const labels = (moments: string[], zone = "UTC") =>
    [...marksOf(moments, zone)].sort(([a], [b]) => a - b).map(([at, mark]) => [at, mark.label]);

const daily = (count: number, last: string) =>
    Array.from({ length: count }, (_, at) => new Date(Date.parse(last) - at * 86_400_000).toISOString());

describe("the words above the grid", () => {
    it("never touch, and name the first day of a month before any other day", () => {
        const found = labels(daily(10, "2026-11-05T00:00:00Z"));
        expect(found).toContainEqual([4, "1 Nov"]);
        for (let at = 1; at < found.length; at++) {
            expect(Number(found[at]?.[0]) - Number(found[at - 1]?.[0])).toBeGreaterThanOrEqual(3);
        }
    });

    it("are those of the zone that is chosen", () => {
        const moments = [
            "2026-11-01T02:00:00Z",
            "2026-10-31T22:30:00Z",
            "2026-10-31T21:30:00Z",
            "2026-10-31T20:30:00Z",
        ];
        expect(labels(moments, "UTC")).toContainEqual([0, "1 Nov"]);
        expect(labels(moments, "Europe/Vienna")).toContainEqual([0, "1 Nov"]);
        expect(labels(moments, "America/New_York")[0]).toEqual([0, "22:00"]);
    });

    it("tell hours where all runs are of one day", () => {
        const moments = ["13:10", "13:05", "13:00", "12:55", "12:50", "12:45", "12:40"].map(
            (time) => `2026-11-30T${time}:00Z`,
        );
        expect(labels(moments)).toEqual([
            [2, "13:00"],
            [6, "30 Nov"],
        ]);
    });
});
