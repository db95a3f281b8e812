import { expect, it } from "vitest";
import { byHour } from "./hours";

it("hours without runs are there too, and each begins on the hour", () => {
    const hours = byHour("2026-11-30T22:40:00Z", [
        { start: "2026-11-30T23:00:00Z", runs: 3 },
        { start: "2026-12-01T06:00:00Z", runs: 1 },
    ]);
    expect(hours).toHaveLength(24);
    expect(hours[0]).toEqual({ start: "2026-11-30T22:00:00.000Z", runs: 0 });
    expect(hours.filter((hour) => hour.runs > 0)).toEqual([
        { start: "2026-11-30T23:00:00.000Z", runs: 3 },
        { start: "2026-12-01T06:00:00.000Z", runs: 1 },
    ]);
});
