import { describe, expect, it } from "vitest";
import { addressOf, between, moved, zoomed, zoomOf } from "./zoom";

const WHOLE = { from: 1_000_000, to: 1_100_000 };
const address = (text: string) => new URLSearchParams(text);

describe("the part of time that is shown", () => {
    it("is the whole where the address says nothing, or nothing that can be", () => {
        for (const text of ["", "from=3", "from=9&to=2", "from=x&to=y", "from=&to="])
            expect(zoomOf(address(text), WHOLE)).toEqual(WHOLE);
    });

    it("stands in the address as seconds since the run began, and comes back from it", () => {
        const shown = { from: 1_010_500, to: 1_020_000 };
        const { from, to } = addressOf(shown, WHOLE);
        expect([from, to]).toEqual(["10.5", "20"]);
        expect(zoomOf(address(`from=${from}&to=${to}`), WHOLE)).toEqual(shown);
        expect(addressOf(WHOLE, WHOLE)).toEqual({ from: null, to: null });
    });

    it("is zoomed about the moment under the pointer, which stays where it is", () => {
        const shown = zoomed({ from: 1_020_000, to: 1_060_000 }, 0.5, 1_030_000, WHOLE);
        expect(shown).toEqual({ from: 1_025_000, to: 1_045_000 });
    });

    it("never leaves the run, nor gets too short to read", () => {
        expect(zoomed({ from: 1_000_000, to: 1_050_000 }, 4, 1_010_000, WHOLE)).toEqual(WHOLE);
        expect(moved({ from: 1_080_000, to: 1_095_000 }, 0.5, WHOLE)).toEqual({ from: 1_085_000, to: 1_100_000 });
        expect(between(1_050_010, 1_050_000, WHOLE)).toEqual({ from: 1_049_805, to: 1_050_205 });
        const { from, to } = zoomed({ from: 1_050_000, to: 1_050_500 }, 0.1, 1_050_250, WHOLE);
        expect(to - from).toBe(400);
    });
});
