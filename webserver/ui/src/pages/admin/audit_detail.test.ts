import { describe, expect, it } from "vitest";
import { detailOf } from "./audit_detail";

describe("detailOf", () => {
    it.each([
        [{ address: "127.0.0.1", in_browser: true }, "address: 127.0.0.1; in browser: yes"],
        [{ name: "Reviewer", before: {}, after: {} }, "name: Reviewer"],
        [
            { name: "ben", before: { permissions: [] }, after: { permissions: ["read DAGs", "trigger runs"] } },
            "name: ben; permissions: nothing → read DAGs, trigger runs",
        ],
        [{ before: { role: "User" }, after: { role: "Op", is_active: true } }, "role: User → Op; is active: yes"],
        [{ before: { slots: 4 }, after: {} }, "slots: 4 → nothing"],
        [{ conf: { day: 1 } }, 'conf: {"day":1}'],
        [{}, ""],
    ])("tells %j", (detail, words) => {
        expect(detailOf(detail)).toBe(words);
    });
});
