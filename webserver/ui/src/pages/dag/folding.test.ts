// @vitest-environment node
import { describe, expect, it } from "vitest";
import { foldedOf, toggledAll, toggledWith } from "./folding";
import { changed } from "./use_address";

const group = (id: string) => ({ id, kind: "group", parent: null });
const tasks = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ id: `t${at}`, kind: "task", parent: "g" }));

describe("the groups of a DAG", () => {
    it("are open where there is little to show, and closed where there is much", () => {
        expect([...foldedOf([group("g"), ...tasks(10)], new Set())]).toEqual([]);
        expect([...foldedOf([group("g"), ...tasks(300)], new Set())]).toEqual(["g"]);
    });

    it("are the other way round once somebody toggled them", () => {
        expect([...foldedOf([group("g"), group("h"), ...tasks(10)], new Set(["h"]))]).toEqual(["h"]);
        expect([...foldedOf([group("g"), group("h"), ...tasks(300)], new Set(["h"]))]).toEqual(["g"]);
    });

    it("can all be closed or opened at once", () => {
        for (const count of [10, 300]) {
            const all = [group("g"), group("h"), ...tasks(count)];
            expect(foldedOf(all, new Set(toggledAll(all, true))).size).toBe(2);
            expect(foldedOf(all, new Set(toggledAll(all, false))).size).toBe(0);
        }
    });

    it("are toggled back by a second click", () => {
        expect(toggledWith(toggledWith(["a"], "b"), "b")).toEqual(["a"]);
    });
});

describe("the address", () => {
    it("keeps what is not changed, and loses what is empty", () => {
        const after = changed(new URLSearchParams("run=r&state=a&state=b"), {
            state: [],
            fold: ["g", "h"],
            run: "x y",
        });
        expect(after.toString()).toBe("fold=g&fold=h&run=x+y");
    });
});
