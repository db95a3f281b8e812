import { describe, expect, it } from "vitest";
import { type Group, groupsOf, isNearEdge, Rows, SEGMENT, segmentFor } from "./rows";

/** The slow and obvious way: every line, one by one. */
function visible(total: number, closed: readonly Group[]): number[] {
    const lines = Array.from({ length: total }, (_, line) => line);
    return lines.filter((line) => !closed.some((group) => line > group.start && line <= group.end));
}

describe("rows of a log", () => {
    it.each<[string, Group[]]>([
        ["no group", []],
        ["one", [{ start: 3, end: 7 }]],
        [
            "at both ends",
            [
                { start: 0, end: 2 },
                { start: 16, end: 19 },
            ],
        ],
        [
            "side by side",
            [
                { start: 2, end: 4 },
                { start: 5, end: 9 },
            ],
        ],
        [
            "one in another",
            [
                { start: 2, end: 12 },
                { start: 4, end: 6 },
                { start: 13, end: 14 },
            ],
        ],
    ])("are what is left when groups are closed: %s", (_, closed) => {
        const rows = new Rows(20, closed);
        const lines = visible(20, closed);
        expect(rows.count).toBe(lines.length);
        expect(lines.map((_, row) => rows.lineOf(row))).toEqual(lines);
        expect(lines.map((line) => rows.rowOf(line))).toEqual(lines.map((_, row) => row));
    });

    it("show the title in place of a line that is folded away", () => {
        expect(new Rows(20, [{ start: 3, end: 7 }]).rowOf(6)).toBe(3);
    });
});

describe("groups", () => {
    const at = (number: number, isStart: boolean) => ({ number, isStart });

    it("are nested, and one without an end stays open", () => {
        const markers = [at(0, true), at(2, true), at(5, false), at(9, true), at(12, false)];
        expect(groupsOf(markers)).toEqual([
            { start: 2, end: 5 },
            { start: 9, end: 12 },
        ]);
    });

    it("are not begun by an end", () => {
        expect(groupsOf([at(1, false)])).toEqual([]);
    });
});

describe("the segment of a log that can be scrolled", () => {
    it("is all of a short log", () => {
        expect(segmentFor(900, 1000)).toBe(0);
        expect(isNearEdge(0, 40, 0, 1000)).toBe(false);
        expect(isNearEdge(960, 999, 0, 1000)).toBe(false);
    });

    it("lies around the row that is looked at, and ends with the log", () => {
        expect(segmentFor(1_000_000, 1_000_000)).toBe(1_000_000 - SEGMENT);
        expect(segmentFor(500_000, 1_000_000)).toBe(500_000 - SEGMENT / 2);
        expect(segmentFor(0, 1_000_000)).toBe(0);
    });

    it("moves when one comes near its edge, but not at the ends of the log", () => {
        const base = 400_000;
        expect(isNearEdge(base + 100, base + 140, base, 1_000_000)).toBe(true);
        expect(isNearEdge(base + SEGMENT - 50, base + SEGMENT - 10, base, 1_000_000)).toBe(true);
        expect(isNearEdge(base + 50_000, base + 50_040, base, 1_000_000)).toBe(false);
        expect(isNearEdge(999_900, 999_999, 800_000, 1_000_000)).toBe(false);
    });
});
