import { describe, expect, it } from "vitest";
import { byName, pagesLike } from "./found";

const PAGES = [
    { to: "/runs", label: "Runs" },
    { to: "/admin/pools", label: "Admin: Pools", isPart: true },
];

describe("pagesLike", () => {
    it("has whole pages where nothing is written, and all with the words where something is", () => {
        expect(pagesLike("", PAGES).map(({ to }) => to)).toEqual(["/runs"]);
        expect(pagesLike("POOL", PAGES).map(({ to }) => to)).toEqual(["/admin/pools"]);
    });
});

describe("byName", () => {
    it("puts DAGs whose name begins with the words before those that have them within, and keeps the order else", () => {
        const found = ["night_shop", "shop", "a_shop"].map((name) => ({ to: name, name, kind: "DAG" }));
        const run = { to: "run", name: "shop: manual", kind: "run" };
        expect(byName("Sho", [...found, run]).map(({ name }) => name)).toEqual([
            "shop",
            "night_shop",
            "a_shop",
            "shop: manual",
        ]);
    });
});
