// @vitest-environment node
import { expect, it } from "vitest";
import { diffLines } from "./diff";

it("each line of a diff has the number that it has in the text it is of", () => {
    const lines = ["--- version 1", "+++ version 2", "@@ -3,3 +3,4 @@", " a", "-b", "+--- c", "+d", " e"];
    expect(diffLines(lines).map((one) => [one.kind, one.old, one.new, one.text])).toEqual([
        ["place", null, null, "@@ -3,3 +3,4 @@"],
        ["same", 3, 3, "a"],
        ["removed", 4, null, "b"],
        ["added", null, 4, "--- c"],
        ["added", null, 5, "d"],
        ["same", 5, 6, "e"],
    ]);
});

it("texts that are the same have no lines", () => {
    expect(diffLines([])).toEqual([]);
});
