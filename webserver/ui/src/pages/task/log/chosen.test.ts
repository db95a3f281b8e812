import { describe, expect, it } from "vitest";
import { chosenOf, chosenText } from "./chosen";

describe("chosen lines", () => {
    it.each([
        ["12", [11, 11]],
        ["12-40", [11, 39]],
        ["40-12", [11, 39]],
        ["0", null],
        ["x", null],
        [null, null],
    ])("are read from the address: %s", (text, lines) => {
        expect(chosenOf(text)).toEqual(lines);
    });

    it("are one after a click, none after a second one, and a range with shift", () => {
        expect(chosenText(null, 4, false)).toBe("5");
        expect(chosenText([4, 4], 4, false)).toBeNull();
        expect(chosenText([4, 4], 9, true)).toBe("5-10");
        expect(chosenText([4, 4], 1, true)).toBe("2-5");
        expect(chosenText([4, 9], 6, true)).toBe("5-7");
        expect(chosenText(null, 6, true)).toBe("7");
    });
});
