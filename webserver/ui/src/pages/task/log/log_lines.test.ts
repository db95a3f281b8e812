import { describe, expect, it, vi } from "vitest";
import { CHUNK, chunksOf, KEPT, type Line, LogLines } from "./log_lines";

const line = (number: number): Line => ({
    number,
    time: null,
    level: "info",
    source: "task",
    logger: null,
    text: `line ${number}`,
    exc: null,
    continued: false,
    group: null,
});

function logOf(total: number) {
    const fetch = vi.fn((first: number | null, count: number) => {
        const from = first ?? Math.max(0, total - count);
        const lines = Array.from({ length: Math.min(count, total - from) }, (_, at) => line(from + at));
        const facts = { total, bytes: total * 80, counts: {}, is_over: false, message: null };
        return Promise.resolve({ first: from, lines, ...facts });
    });
    return { fetch, log: new LogLines(fetch) };
}

describe("chunksOf", () => {
    it.each([
        [0, 40, 1000, [0]],
        [490, 510, 1000, [0, 1]],
        [999, 1400, 1000, [1]],
        [0, 10, 0, []],
    ])("holds the lines from %i to %i of %i", (first, last, total, chunks) => {
        expect(chunksOf(first, last, total)).toEqual(chunks);
    });
});

describe("a log", () => {
    it("opens at its end with one call, however long it is", async () => {
        const { fetch, log } = logOf(1_000_000);
        await log.open();
        expect(log.lineAt(999_999)?.text).toBe("line 999999");
        expect(log.facts?.total).toBe(1_000_000);
        log.need(999_900, 999_999);
        expect(fetch).toHaveBeenCalledTimes(1);
    });

    it("fetches a chunk once, even when it is needed again before the answer", async () => {
        const { fetch, log } = logOf(10_000);
        await log.open();
        log.need(1000, 1040);
        log.need(1001, 1041);
        await vi.waitFor(() => expect(log.lineAt(1000)).toBeDefined());
        log.need(1002, 1042);
        expect(fetch).toHaveBeenCalledTimes(2);
        expect(fetch).toHaveBeenLastCalledWith(1000, CHUNK);
    });

    it("keeps what is near and forgets what is far", async () => {
        const { log } = logOf(100_000);
        await log.open();
        for (let at = 0; at <= KEPT; at += CHUNK) log.need(at, at);
        await vi.waitFor(() => expect(log.lineAt(KEPT)).toBeDefined());
        log.need(KEPT, KEPT + 40);
        expect(log.lineAt(0)).toBeUndefined();
        expect(log.lineAt(KEPT)).toBeDefined();
    });

    it("grows by what is followed and is not made shorter by an older answer", async () => {
        const { log } = logOf(100);
        await log.open();
        log.append(100, [line(100), line(101)]);
        expect(log.facts?.total).toBe(102);
        await log.open();
        expect(log.facts?.total).toBe(102);
    });

    it("keeps the server's sentence when it refuses", async () => {
        const log = new LogLines(() => Promise.reject(new Error("there is no try 9")));
        await log.open();
        expect(log.error?.message).toBe("there is no try 9");
    });
});
