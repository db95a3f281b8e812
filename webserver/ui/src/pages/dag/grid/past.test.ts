import { expect, it } from "vitest";
import { gridFilterOf, readIn, untilMinuteOf, writtenIn } from "./past";

it("the minute that is written is the last one shown, in whatever zone", () => {
    for (const zone of ["UTC", "Asia/Kathmandu", "America/New_York"]) {
        const until = readIn(zone, "2026-03-02T10:00");
        expect(writtenIn(zone, until ?? "")).toBe("2026-03-02T10:00");
    }
    expect(readIn("UTC", "2026-03-02T10:00")).toBe("2026-03-02T10:01:00.000Z");
    expect(readIn("Asia/Kathmandu", "2026-03-02T10:00")).toBe("2026-03-02T04:16:00.000Z");
});

it("a day ends with its last minute, and a run is among those until its own minute", () => {
    expect(writtenIn("UTC", "2026-03-03T00:00:00.000Z")).toBe("2026-03-02T23:59");
    expect(untilMinuteOf("2026-03-02T10:00:00+00:00")).toBe("2026-03-02T10:01:00.000Z");
    expect(untilMinuteOf("2026-03-02T10:00:59.999+00:00")).toBe("2026-03-02T10:01:00.000Z");
});

it("what is half written, or no moment at all, is nothing to go by", () => {
    for (const written of ["", "0002-03-02T10:00", "12026-03-02T10:00", "2026-03-02"]) {
        expect(readIn("UTC", written)).toBeNull();
    }
    expect(gridFilterOf(new URLSearchParams("until=lately&state=failed"))).toEqual({ state: ["failed"], run_type: [] });
    expect(gridFilterOf(new URLSearchParams("until=%2B012026-01-01T00:00:00Z"))).not.toHaveProperty("until");
    expect(gridFilterOf(new URLSearchParams("until=2026-03-02")).until).toBe("2026-03-02T00:00:00.000Z");
});
