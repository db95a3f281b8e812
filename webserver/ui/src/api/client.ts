import createClient from "openapi-fetch";
import { BASE } from "./base";
import type { paths } from "./schema";

/** The typed client of every route in the OpenAPI document; the session's cookie is its only credential. */
export const api = createClient<paths>({ baseUrl: BASE, credentials: "same-origin" });

/** The JSON that a GET of this path answers with. */
export type Got<Path extends keyof paths> = paths[Path] extends {
    get: { responses: { 200: { content: { "application/json": infer Shape } } } };
}
    ? Shape
    : never;

/** What the server said when it refused: its own sentence, and the HTTP status. */
export class ApiError extends Error {
    readonly status: number;

    constructor(status: number, sentence: string) {
        super(sentence);
        this.name = "ApiError";
        this.status = status;
    }
}

interface Answer<T> {
    data?: T;
    error?: unknown;
    response: Response;
}

/** Return the data of an answer; throw `ApiError` with the server's sentence when it refused. */
export async function answered<T>(call: Promise<Answer<T>>): Promise<T> {
    const { data, error, response } = await call.catch(unreachable);
    if (!response.ok) throw new ApiError(response.status, sentenceOf(error, response));
    return data as T;
}

/** Say in words of ours that no answer came; browsers have a sentence each, and none says what to do. */
function unreachable(cause: unknown): never {
    if (!(cause instanceof TypeError)) throw cause;
    throw new Error("The server cannot be reached. Is it running, and is this machine on the network?", { cause });
}

function sentenceOf(error: unknown, response: Response): string {
    const detail = typeof error === "object" && error !== null && "detail" in error ? error.detail : undefined;
    if (typeof detail === "string") return detail;
    if (Array.isArray(detail)) return detail.map(problemOf).join("; ");
    return `the server answered ${response.status} ${response.statusText}`.trim();
}

function problemOf(problem: { loc?: unknown[]; msg?: string }): string {
    return `${(problem.loc ?? []).slice(1).join(".")}: ${problem.msg ?? "is not valid"}`;
}
