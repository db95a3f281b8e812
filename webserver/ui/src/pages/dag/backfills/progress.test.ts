// @vitest-environment node
import { expect, it } from "vitest";
import { shareOf } from "./progress";

it("a bar of progress begins with what has ended, and leaves room for what is still to be made", () => {
    expect(shareOf({ queued: 1, running: 1, failed: 1, success: 2 }, 10)).toEqual([
        { state: "success", percent: 20 },
        { state: "failed", percent: 10 },
        { state: "running", percent: 10 },
        { state: "queued", percent: 10 },
    ]);
    expect(shareOf({}, 0)).toEqual([]);
});
