import { describe, expect, it } from "vitest";
import { ApiError, answered } from "./client";

const refusal = (status: number, error: unknown) =>
    answered(Promise.resolve({ error, response: new Response(null, { status, statusText: "Refused" }) }));

describe("answered", () => {
    it("returns the data of an answer", async () => {
        expect(await answered(Promise.resolve({ data: 7, response: new Response() }))).toBe(7);
    });

    it("throws the server's own sentence", async () => {
        await expect(refusal(409, { detail: "the pool is in use" })).rejects.toEqual(
            new ApiError(409, "the pool is in use"),
        );
    });

    it("names each field that is not valid", async () => {
        const detail = [{ loc: ["body", "slots"], msg: "Input should be a number" }];
        await expect(refusal(422, { detail })).rejects.toThrow("slots: Input should be a number");
    });

    it("tells what is wrong with which field, and which field names what is not there", async () => {
        const errors = [
            { loc: ["body", "slots"], msg: "expected -1 or more", found: "a number" },
            { loc: ["body", "folders", 2], msg: "expected a path" },
        ];
        const faults = [
            { field: "slots", words: "expected -1 or more; found a number" },
            { field: "folders.2", words: "expected a path" },
        ];
        await expect(refusal(422, { detail: "two faults", errors })).rejects.toMatchObject({ faults });
        const gone = { detail: "team 'etl' was not found", what: "team", which: "etl" };
        await expect(refusal(404, gone)).rejects.toMatchObject({
            faults: [{ field: "team_name", words: gone.detail }],
        });
        await expect(refusal(404, { detail: "no page" })).rejects.toMatchObject({ faults: [] });
    });

    it("says what it means where no answer came, and lets a call that was given up be", async () => {
        await expect(answered(Promise.reject(new TypeError("Failed to fetch")))).rejects.toThrow("cannot be reached");
        const given_up = new DOMException("given up", "AbortError");
        await expect(answered(Promise.reject(given_up))).rejects.toBe(given_up);
    });

    it("tells the status where the server said nothing", async () => {
        await expect(refusal(502, undefined)).rejects.toThrow("the server answered 502 Refused");
    });
});
