import { expect, it } from "vitest";
import { prospect } from "./prospect";

const dag = { is_paused: false, running_runs: 0, queued_runs: 0, max_active_runs: 2, version_number: 4 };

it.each([
    [dag, false, "starts at once"],
    [{ ...dag, is_paused: true }, false, "until it is turned on"],
    [{ ...dag, is_paused: true }, true, "starts at once"],
    [{ ...dag, running_runs: 2 }, false, "2 of 2 runs are running"],
    [{ ...dag, queued_runs: 3 }, false, "after the 3"],
])("what will happen is told: %o, %s", (one, turnsOn, words) => {
    expect(prospect(one, turnsOn)).toContain(words);
});
