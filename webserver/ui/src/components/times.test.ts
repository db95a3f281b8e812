import { describe, expect, it } from "vitest";
import { dateIn, fromNow, lengthOf, momentIn, secondsBetween } from "./times";

describe("lengthOf", () => {
    it.each([
        [null, "–"],
        [0.04, "0.0 s"],
        [9.94, "9.9 s"],
        [9.96, "10 s"],
        [60, "1 min"],
        [200, "3 min 20 s"],
        [3599.9, "1 h"],
        [7199, "2 h"],
        [7500, "2 h 5 min"],
        [86_400 * 3 + 3600 * 4, "3 d 4 h"],
    ])("tells %s as %s", (seconds, words) => {
        expect(lengthOf(seconds)).toBe(words);
    });
});

describe("moments", () => {
    it("are shown in the zone that was chosen, across midnight", () => {
        expect(momentIn("UTC", "2026-11-30T23:30:00Z")).toBe("2026-11-30 23:30:00");
        expect(momentIn("Asia/Tokyo", "2026-11-30T23:30:00Z")).toBe("2026-12-01 08:30:00");
        expect(dateIn("Asia/Tokyo", "2026-11-30T23:30:00Z")).toBe("2026-12-01");
    });

    it("are told from now in one unit", () => {
        const now = Date.parse("2026-11-30T12:00:00Z");
        expect(fromNow("2026-11-30T12:03:20Z", now)).toBe("in 3 min");
        expect(fromNow("2026-11-30T10:00:00Z", now)).toBe("2 h ago");
        expect(fromNow("2026-11-30T11:59:55Z", now)).toBe("5 s ago");
        expect(fromNow("2026-11-30T12:00:00Z", now)).toBe("now");
    });

    it("have no negative length between them, whatever the browser's clock says", () => {
        expect(secondsBetween("2026-11-30T12:00:10Z", null, Date.parse("2026-11-30T12:00:00Z"))).toBe(0);
        expect(secondsBetween(null, null, 0)).toBeNull();
    });
});
