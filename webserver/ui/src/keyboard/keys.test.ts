import { describe, expect, it } from "vitest";
import { nameOf, press, shownKeys } from "./keys";

const NO_KEYS = { ctrlKey: false, metaKey: false, altKey: false };

describe("press", () => {
    const shortcuts = ["?", "g d", "g r", "d", "d"];

    it("finds a shortcut of one key, the later of two", () => {
        expect(press([], "?", shortcuts)).toEqual({ found: 0, pending: [] });
        expect(press([], "d", shortcuts)).toEqual({ found: 4, pending: [] });
    });

    it("waits for the second key of those that have two, and takes it for that", () => {
        expect(press([], "g", shortcuts)).toEqual({ found: null, pending: ["g"] });
        expect(press(["g"], "d", shortcuts)).toEqual({ found: 1, pending: [] });
    });

    it("begins anew with a key that leads nowhere", () => {
        expect(press(["g"], "?", shortcuts)).toEqual({ found: 0, pending: [] });
        expect(press(["g"], "g", shortcuts)).toEqual({ found: null, pending: ["g"] });
        expect(press(["g"], "x", shortcuts)).toEqual({ found: null, pending: [] });
    });
});

describe("names of keys", () => {
    it("take a Mac's command key for Ctrl, and letters with it as small", () => {
        expect(nameOf({ ...NO_KEYS, key: "K", metaKey: true })).toBe("Ctrl+k");
        expect(nameOf({ ...NO_KEYS, key: "?" })).toBe("?");
    });

    it("are shown as they stand on the keys", () => {
        expect(shownKeys("Ctrl+k")).toEqual(["Ctrl", "k"]);
        expect(shownKeys("g d")).toEqual(["g", "d"]);
        expect(shownKeys("ArrowDown")).toEqual(["↓"]);
        expect(shownKeys("+")).toEqual(["+"]);
    });
});
