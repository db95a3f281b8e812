import { describe, expect, it } from "vitest";
import { nextMatch, partsOf, placeAfter, previousMatch } from "./matches";

describe("matches of a search", () => {
    const found = [10, 20, 30];

    it("follow one another, and begin again at the ends", () => {
        expect(nextMatch(found, 10)).toBe(20);
        expect(nextMatch(found, 15)).toBe(20);
        expect(nextMatch(found, 30)).toBe(10);
        expect(previousMatch(found, 20)).toBe(10);
        expect(previousMatch(found, 25)).toBe(20);
        expect(previousMatch(found, 10)).toBe(30);
    });

    it("are none where nothing was found", () => {
        expect(nextMatch([], 5)).toBeNull();
        expect(previousMatch([], 5)).toBeNull();
    });

    it("are counted up to the line that one stands on", () => {
        expect(placeAfter(found, 20)).toBe(2);
        expect(placeAfter(found, -1)).toBe(0);
    });
});

describe("partsOf", () => {
    it("tells apart what matches, letter case aside", () => {
        expect(partsOf("an Error is an error", "ERROR")).toEqual(["an ", "Error", " is an ", "error", ""]);
    });

    it("leaves a text whole that does not match, or whose lower case is longer", () => {
        expect(partsOf("abc", "x")).toEqual(["abc"]);
        expect(partsOf("İ error", "error")).toEqual(["İ error"]);
    });
});
