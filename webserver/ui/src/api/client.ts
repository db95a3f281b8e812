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

/** What is wrong with one field of what was sent: its name, with dots where it is within another, and why. */
export interface FieldFault {
    field: string;
    words: string;
}

/** What the server said when it refused: its own sentence, the HTTP status, and what is wrong with which field. */
export class ApiError extends Error {
    readonly status: number;
    readonly faults: readonly FieldFault[];

    constructor(status: number, sentence: string, faults: readonly FieldFault[] = []) {
        super(sentence);
        this.name = "ApiError";
        this.status = status;
        this.faults = faults;
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
    if (!response.ok) throw new ApiError(response.status, sentenceOf(error, response), faultsOf(error));
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

interface Problem {
    detail?: string;
    /** The kind of what was not found. */
    what?: string;
    errors?: { loc: (string | number)[]; msg: string; found?: string }[];
}

/** The fields that name things of others, by the kind of thing: one may be gone that was there just now. */
const NAMED_IN: Record<string, string> = { team: "team_name", account: "username", role: "role", DAG: "dag_id" };

function faultsOf(error: unknown): FieldFault[] {
    const { errors, what, detail } = (error ?? {}) as Problem;
    const field = NAMED_IN[what ?? ""];
    if (!Array.isArray(errors)) return field === undefined || detail === undefined ? [] : [{ field, words: detail }];
    // The first part of the place says whether it stands in the body, in the query or in the address.
    return errors.map(({ loc, msg, found }) => ({
        field: loc.slice(1).join("."),
        words: found === undefined ? msg : `${msg}; found ${found}`,
    }));
}
