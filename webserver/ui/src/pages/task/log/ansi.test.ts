import { describe, expect, it } from "vitest";
import { plainOf, stretchesOf } from "./ansi";

const E = "\u001b";
const brief = (text: string) => stretchesOf(text).map((one) => [one.text, one.colour, one.isBold]);

describe("colours of a terminal", () => {
    it("begin and end where the text says", () => {
        expect(brief(`a ${E}[31mred${E}[0m b`)).toEqual([
            ["a ", null, false],
            ["red", "red", false],
            [" b", null, false],
        ]);
    });

    it("may be several at once, and an empty one ends all", () => {
        expect(brief(`${E}[1;92mok${E}[m.`)).toEqual([
            ["ok", "green", true],
            [".", null, false],
        ]);
    });

    it.each([
        ["38;5;208", "red"],
        ["38;5;46", "green"],
        ["38;5;9", "red"],
        ["38;2;40;80;250", "blue"],
        ["38;2;250;240;30", "yellow"],
        ["38;5;240", "black"],
    ])("of many are brought near to one of eight: %s is %s", (codes, name) => {
        expect(brief(`${E}[${codes}mx`)).toEqual([["x", name, false]]);
    });

    it("go on after a colour of many", () => {
        expect(brief(`${E}[38;5;46;1mx`)).toEqual([["x", "green", true]]);
    });

    it("leave no trace of cursors, titles and unknown codes", () => {
        expect(plainOf(`${E}[2K${E}[1Gdone${E}]0;title\u0007!${E}[99m`)).toBe("done!");
        expect(brief(`${E}[2Kdone`)).toEqual([["done", null, false]]);
    });

    it("are told of the ground too", () => {
        expect(stretchesOf(`${E}[41mx`)[0]?.ground).toBe("red");
    });
});
