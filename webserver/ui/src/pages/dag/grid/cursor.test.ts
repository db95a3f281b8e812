// @vitest-environment node
import { expect, it } from "vitest";
import { moved } from "./cursor";

const size = { columns: 5, rows: 12 };

it("arrow keys move over the grid, whose newest run is at the right, and stop at its edges", () => {
    expect(moved({ column: 0, row: -1 }, "ArrowLeft", size)).toEqual({ column: 1, row: -1 });
    expect(moved({ column: 0, row: -1 }, "ArrowRight", size)).toEqual({ column: 0, row: -1 });
    expect(moved({ column: 2, row: -1 }, "ArrowDown", size)).toEqual({ column: 2, row: 0 });
    expect(moved({ column: 2, row: 0 }, "ArrowUp", size)).toEqual({ column: 2, row: -1 });
    expect(moved({ column: 2, row: 5 }, "PageDown", size)).toEqual({ column: 2, row: 11 });
    expect(moved({ column: 2, row: 5 }, "Home", size)).toEqual({ column: 4, row: 5 });
});

it("other keys are left to the browser", () => {
    expect(moved({ column: 0, row: 0 }, "Enter", size)).toBeNull();
});
