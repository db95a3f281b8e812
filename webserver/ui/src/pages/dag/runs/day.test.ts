// @vitest-environment node
import { expect, it } from "vitest";
import { boundsOf, dayAfter } from "./day";

it("a day begins at the midnight of its zone, whatever the offset", () => {
    expect(boundsOf("2026-11-30", "UTC")).toEqual({
        since: "2026-11-30T00:00:00.000Z",
        until: "2026-12-01T00:00:00.000Z",
    });
    expect(boundsOf("2026-11-30", "America/New_York")?.since).toBe("2026-11-30T05:00:00.000Z");
    expect(boundsOf("2026-11-30", "Asia/Kathmandu")?.since).toBe("2026-11-29T18:15:00.000Z");
});

it("the day on which summer time ends has 25 hours", () => {
    expect(boundsOf("2026-10-25", "Europe/Vienna")).toEqual({
        since: "2026-10-24T22:00:00.000Z",
        until: "2026-10-25T23:00:00.000Z",
    });
});

it("words that are no day are none", () => {
    expect(boundsOf("yesterday", "UTC")).toBeNull();
    expect(dayAfter("2026-12-31", 1)).toBe("2027-01-01");
});
