import { describe, expect, it } from "vitest";
import { answerOf, chosenAfter, isAsked, type Step } from "./answer";

const STEP: Step = {
    dag_id: "release",
    dag_name: "release",
    run_id: "r1",
    task_id: "where",
    map_index: -1,
    subject: "Where to?",
    body: null,
    options: ["north", "south"],
    defaults: null,
    multiple: true,
    params: { share: { value: 10, schema: { type: "integer" }, has_value: true, description: null } },
    assignees: [],
    asked_at: null,
    due_at: null,
    answered_at: null,
    answered_by: null,
    chosen: null,
    given: null,
    timed_out: false,
};

describe("an answer", () => {
    it("names the options in the order in which they were offered, and fields that were changed", () => {
        const { body, problems } = answerOf(STEP, new Set(["south", "north"]), { share: "20" });
        expect(body).toEqual({ chosen_options: ["north", "south"], params_input: { share: 20 } });
        expect(problems).toEqual({});
    });

    it("tells what is wrong with a field", () => {
        expect(answerOf(STEP, new Set(["north"]), { share: "much" }).problems).toHaveProperty("share");
    });

    it("has one option, or several where these may be chosen", () => {
        expect([...chosenAfter(new Set(["north"]), "south", false)]).toEqual(["south"]);
        expect([...chosenAfter(new Set(["north"]), "south", true)]).toEqual(["north", "south"]);
        expect([...chosenAfter(new Set(["north"]), "north", true)]).toEqual([]);
    });
});

describe("isAsked", () => {
    it("is everybody where nobody is named", () => {
        expect(isAsked(STEP, "ann")).toBe(true);
        const step = { ...STEP, assignees: [{ id: "bob", name: "bob" }] };
        expect(isAsked(step, "ann")).toBe(false);
        expect(isAsked(step, "bob")).toBe(true);
    });
});
