import { describe, expect, it } from "vitest";
import { confOf, faultOf, kindOf, type Param } from "./params";

const param = (value: unknown, schema: Param["schema"] = {}): Param => ({ value, schema, description: null });

describe("the form of params", () => {
    it.each([
        ["choice", param("a", { enum: ["a", "b"] })],
        ["flag", param(false, { type: "boolean" })],
        ["flag", param(true)],
        ["number", param(1, { type: ["integer", "null"] })],
        ["date", param(null, { type: ["string", "null"], format: "date" })],
        ["lines", param([], { type: "array", items: { type: "string" } })],
        ["json", param([], { type: "array" })],
        ["json", param(null)],
        ["json", param(1, { type: ["integer", "string"] })],
        ["long", param("two\nlines")],
        ["text", param("x", { type: "string" })],
    ])("has %s for %o", (kind, one) => {
        expect(kindOf(one)).toBe(kind);
    });

    it("sends what was changed, as the type that the schema has", () => {
        const params = {
            name: param("world", { type: "string" }),
            count: param(2, { type: "integer" }),
            tone: param("warm", { enum: ["warm", 3] }),
            people: param(["ann"], { type: "array", items: { type: "string" } }),
            day: param("2026-01-01", { type: ["string", "null"], format: "date" }),
        };
        const { conf, problems } = confOf(params, {
            count: "3",
            tone: "3",
            people: "ann\nben\n",
            day: "",
            name: "world",
        });
        expect(conf).toEqual({ count: 3, tone: 3, people: ["ann", "ben"], day: null });
        expect(problems).toEqual({});
    });

    it("tells what is no value, by the param's name", () => {
        const { conf, problems } = confOf({ n: param(1), o: param({}) }, { n: "many", o: "{" });
        expect(conf).toEqual({});
        expect(problems.n).toBe("a number is wanted here");
        expect(problems.o).toContain("no JSON");
    });

    it("finds the param that the server's sentence is about", () => {
        expect(faultOf("the conf does not suit DAG 'g': param 'count': 99 is greater than the maximum of 10")).toEqual({
            name: "count",
            problem: "99 is greater than the maximum of 10",
        });
        expect(faultOf("run id 'a b' cannot be used")).toBeNull();
    });
});
