import { describe, expect, it } from "vitest";
import { withoutIndent } from "./markdown_text";

describe("the text of a docstring", () => {
    it("loses the indent that all lines but the first share", () => {
        expect(withoutIndent("# Load\n\n    Reads it.\n\n        code\n    ")).toBe("# Load\n\nReads it.\n\n    code");
    });
    it("that begins on its second line loses its indent too", () => {
        expect(withoutIndent("\n    - one\n      - two\n")).toBe("- one\n  - two");
    });
    it("without an indent stays as it is", () => {
        expect(withoutIndent("a\n\n    code\n\nb")).toBe("a\n\n    code\n\nb");
        expect(withoutIndent("")).toBe("");
    });
});
