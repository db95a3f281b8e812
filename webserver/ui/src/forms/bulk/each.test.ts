import { expect, it } from "vitest";
import { each } from "./each";

it("one refusal stops no other, and is told with its reason", async () => {
    const acted: number[] = [];
    const progress: number[] = [];
    const failures = await each(
        Array.from({ length: 20 }, (_, at) => at),
        (one) => `dag ${one}`,
        async (one) => {
            if (one % 10 === 3) throw new Error(`no right to ${one}`);
            acted.push(one);
        },
        (done) => progress.push(done),
    );
    expect(acted).toHaveLength(18);
    expect(failures).toEqual([
        { name: "dag 3", reason: "no right to 3" },
        { name: "dag 13", reason: "no right to 13" },
    ]);
    expect(progress.at(-1)).toBe(20);
});
