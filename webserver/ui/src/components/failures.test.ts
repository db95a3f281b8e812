import { expect, it } from "vitest";
import { ApiError, answered } from "../api/client";
import { hasFailed, titleOf } from "./failures";

it("a title tells what kind of failure it is, before the server's sentence", async () => {
    const unreachable = await answered(Promise.reject(new TypeError("Failed to fetch"))).catch(
        (error: unknown) => error,
    );
    expect(titleOf(unreachable as Error)).toBe("No connection to the server");
    expect(titleOf(new ApiError(404, "there is no DAG 'a'"))).toBe("Not found");
    expect(titleOf(new ApiError(503, "starting"))).toBe("The server is not ready");
    expect(titleOf(new ApiError(500, "oh"))).toBe("The server failed");
    expect(titleOf(new Error("elk gave up"))).toBe("That did not work");
});

it("what was read stays when it cannot be read again, unless the server refuses it", () => {
    const query = (error: Error | null, data: unknown) => ({ isError: error !== null, error, data });
    expect(hasFailed(query(null, undefined))).toBe(false);
    expect(hasFailed(query(new Error("away"), undefined))).toBe(true);
    expect(hasFailed(query(new Error("away"), []))).toBe(false);
    expect(hasFailed(query(new ApiError(500, "oh"), []))).toBe(false);
    expect(hasFailed(query(new ApiError(404, "gone"), []))).toBe(true);
});
