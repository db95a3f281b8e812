import { describe, expect, it } from "vitest";
import { confOf, faultOf, kindOf, type Param, rangeOf, toggledIn } from "./params";

const param = (value: unknown, schema: Param["schema"] = {}): Param => ({ value, schema, description: null });

describe("the form of params", () => {
    it.each([
        ["choice", param("a", { enum: ["a", "b"] })],
        ["flag", param(false, { type: "boolean" })],
        ["flag", param(true)],
        ["number", param(1, { type: ["integer", "null"] })],
        ["date", param(null, { type: ["string", "null"], format: "date" })],
        ["lines", param([], { type: "array", items: { type: "string" } })],
        ["lines", param([1], { type: "array", items: { type: "integer" } })],
        ["lines", param(["a"], { type: "array" })],
        ["lines", param(["a"])],
        ["choices", param(["a"], { type: "array", items: { enum: ["a", "b"] } })],
        ["json", param([], { type: "array" })],
        ["json", param([{}], { type: "array", items: { type: "object" } })],
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

    it("has boxes for an array of choices, whose order is that of the schema", () => {
        const regions = param(["south"], { type: "array", items: { enum: ["north", "south", 3] } });
        const text = toggledIn(["north", "south", 3], '["south"]', '"north"');
        expect(confOf({ regions }, { regions: text }).conf).toEqual({ regions: ["north", "south"] });
        expect(toggledIn(["north", "south", 3], text, '"south"')).toBe('["north"]');
        expect(confOf({ regions }, {}).conf).toEqual({});
    });

    it("reads numbers from lines, and tells which are allowed", () => {
        const sizes = param([1], { type: "array", items: { type: "integer" } });
        expect(confOf({ sizes }, { sizes: "2\n\n30" }).conf).toEqual({ sizes: [2, 30] });
        expect(confOf({ sizes }, { sizes: "two" }).problems.sizes).toBe("a number is wanted here");
        expect([rangeOf({ minimum: 1, maximum: 9 }), rangeOf({ minimum: 0 }), rangeOf({})]).toEqual([
            "1 to 9",
            "At least 0",
            null,
        ]);
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
        expect(faultOf("param 'name' of DAG 'g' has no default; give it in the conf")?.problem).toBe(
            "must be filled in: it has no default",
        );
        expect(faultOf("run id 'a b' cannot be used")).toBeNull();
    });
});
