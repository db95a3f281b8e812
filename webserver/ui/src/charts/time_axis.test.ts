// @vitest-environment node
import { expect, it } from "vitest";
import { ticksOf } from "./time_axis";

const labels = (from: string, to: string, zone = "UTC", most = 8) =>
    ticksOf(Date.parse(from), Date.parse(to), zone, most).map((tick) => tick.label);

it("ticks stand at round times, never more than asked for", () => {
    expect(labels("2026-11-30T14:00:03Z", "2026-11-30T14:00:38Z")).toEqual([
        "14:00:05",
        "14:00:10",
        "14:00:15",
        "14:00:20",
        "14:00:25",
        "14:00:30",
        "14:00:35",
    ]);
    expect(labels("2026-11-30T14:07:00Z", "2026-11-30T16:40:00Z")).toEqual([
        "14:30",
        "15:00",
        "15:30",
        "16:00",
        "16:30",
    ]);
});

it("ticks of less than a second tell its parts", () => {
    expect(labels("2026-11-30T14:00:00.050Z", "2026-11-30T14:00:00.450Z")).toEqual([
        "14:00:00.1",
        "14:00:00.2",
        "14:00:00.3",
        "14:00:00.4",
    ]);
});

it("days begin at the midnight of the zone", () => {
    expect(labels("2026-11-28T10:00:00Z", "2026-12-01T10:00:00Z", "Europe/Vienna", 4)).toEqual([
        "11-29",
        "11-30",
        "12-01",
    ]);
    const [first] = ticksOf(Date.parse("2026-11-28T10:00:00Z"), Date.parse("2026-12-01T10:00:00Z"), "Europe/Vienna", 4);
    expect(new Date(first?.at ?? 0).toISOString()).toBe("2026-11-28T23:00:00.000Z");
});
