/** The form of a DAG's params: which control each has by its JSON schema, and what is written as a value of it. */

export interface Schema {
    type?: string | string[];
    enum?: unknown[];
    title?: string;
    format?: string;
    items?: { type?: string; enum?: unknown[] };
    minimum?: number;
    maximum?: number;
    minLength?: number;
    maxLength?: number;
}

export interface Param {
    value: unknown;
    schema: Schema;
    description: string | null;
}

export type Kind =
    | "choice"
    | "choices"
    | "flag"
    | "number"
    | "date"
    | "moment"
    | "time"
    | "lines"
    | "json"
    | "text"
    | "long";

const LONG = 80;
const BY_FORMAT: Record<string, Kind> = { date: "date", "date-time": "moment", time: "time", multiline: "long" };
const BY_TYPE: Record<string, Kind> = { boolean: "flag", integer: "number", number: "number", object: "json" };

/** Return the params by name; what is no param, as of an older version of the server, is left out. */
export function paramsOf(params: Record<string, unknown>): Record<string, Param> {
    const found = Object.entries(params).filter((entry): entry is [string, Param] => isParam(entry[1]));
    return Object.fromEntries(found);
}

function isParam(one: unknown): boolean {
    return typeof one === "object" && one !== null && "schema" in one;
}

/** Return the name of the field that a param is written in: where it stands in what is sent. */
export function nameOf(param: string): string {
    return `conf.${param}`;
}

function typesOf(schema: Schema): string[] {
    return typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
}

/** Return the control for a param: by its schema, or by its default value where the schema says nothing. */
export function kindOf({ schema, value }: Param): Kind {
    if (schema.enum !== undefined) return "choice";
    const types = typesOf(schema).filter((type) => type !== "null");
    if (types.length > 1) return "json";
    const type = types[0] ?? typeOf(value);
    if (type === "array") return kindOfArray(schema, value);
    if (type !== "string") return BY_TYPE[type] ?? "json";
    const isLong = typeof value === "string" && (value.length > LONG || value.includes("\n"));
    return BY_FORMAT[schema.format ?? ""] ?? (isLong ? "long" : "text");
}

const OF_LINES = ["string", "integer", "number"];

function kindOfArray({ items }: Schema, value: unknown): Kind {
    if (items?.enum !== undefined) return "choices";
    if (items?.type !== undefined) return OF_LINES.includes(items.type) ? "lines" : "json";
    const isOfTexts = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string");
    return isOfTexts ? "lines" : "json";
}

/** Return the chosen ones of a text of kind "choices", each as JSON. */
export function chosenIn(text: string): Set<string> {
    return new Set((JSON.parse(text) as unknown[]).map((one) => JSON.stringify(one)));
}

/** Return the text with one chosen that was not, or the other way round; in the order of the choices. */
export function toggledIn(choices: readonly unknown[], text: string, word: string): string {
    const chosen = chosenIn(text);
    if (!chosen.delete(word)) chosen.add(word);
    return JSON.stringify(choices.filter((one) => chosen.has(JSON.stringify(one))));
}

function typeOf(value: unknown): string {
    if (value === null || value === undefined) return "any";
    return Array.isArray(value) ? "array" : typeof value;
}

/** Return what stands in the control for a value. */
export function textOf(kind: Kind, value: unknown): string {
    if (kind === "choice") return JSON.stringify(value ?? null);
    if (kind === "choices") return JSON.stringify(Array.isArray(value) ? value : []);
    if (value === null || value === undefined) return kind === "json" ? "null" : "";
    if (kind === "json") return JSON.stringify(value, null, 2);
    if (kind === "lines") return Array.isArray(value) ? value.join("\n") : String(value);
    if (kind === "moment") return String(value).slice(0, 16);
    return String(value);
}

/**
 * Return the value that a text stands for.
 *
 * @throws Error when it stands for none; the message says what was expected.
 */
export function writtenValue(kind: Kind, schema: Schema, text: string): unknown {
    if (kind === "choice" || kind === "choices") return JSON.parse(text);
    if (kind === "flag") return text === "true";
    if (kind === "json") return fromJson(text);
    const mayBeNull = typesOf(schema).includes("null") || typesOf(schema).length === 0;
    if (text === "" && mayBeNull && kind !== "lines") return null;
    if (kind === "lines") return linesOf(schema, text);
    if (kind === "moment" && text !== "") return `${text}:00+00:00`;
    return kind === "number" ? fromNumber(text) : text;
}

function linesOf({ items }: Schema, text: string): unknown[] {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return items?.type === "integer" || items?.type === "number" ? lines.map(fromNumber) : lines;
}

/** Return what numbers are allowed, in words; nothing where all are. */
export function rangeOf({ minimum, maximum }: Schema): string | null {
    if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
    if (minimum !== undefined) return `At least ${minimum}`;
    return maximum === undefined ? null : `At most ${maximum}`;
}

/** Return the value of a JSON text; throws an `Error` that says what is wrong with it. */
export function fromJson(text: string): unknown {
    try {
        return JSON.parse(text);
    } catch (error) {
        throw new Error(`this is no JSON: ${(error as Error).message}`);
    }
}

function fromNumber(text: string): number {
    const number = Number(text);
    if (text.trim() === "" || Number.isNaN(number)) throw new Error("a number is wanted here");
    return number;
}

/** Return the conf of a run: what was written and differs from the default; and what is wrong, by the param's name. */
export function confOf(params: Record<string, Param>, texts: Record<string, string>) {
    const conf: Record<string, unknown> = {};
    const problems: Record<string, string> = {};
    for (const [name, param] of Object.entries(params)) {
        const kind = kindOf(param);
        const text = texts[name] ?? textOf(kind, param.value);
        if (text === textOf(kind, param.value) && param.value !== undefined) continue;
        try {
            conf[name] = writtenValue(kind, param.schema, text);
        } catch (error) {
            problems[name] = (error as Error).message;
        }
    }
    return { conf, problems };
}

/** Return the param that the server's sentence is about, and the part of the sentence that concerns it. */
export function faultOf(sentence: string): { name: string; problem: string } | null {
    const found = /param '([^']+)'(?: of DAG '[^']*')?:? (.+)$/s.exec(sentence);
    if (found === null) return null;
    const problem = found[2] ?? "";
    // The server speaks of a conf, and whoever reads this of a field.
    return {
        name: found[1] ?? "",
        problem: problem.replace(/^has no default.*$/s, "must be filled in: it has no default"),
    };
}
