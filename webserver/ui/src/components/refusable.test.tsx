import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { ApiError } from "../api/client";
import { FormError, toldOf } from "./faults";
import { Check, Field } from "./field";
import { Refusable } from "./refusable";

afterEach(cleanup);

const SLOTS = { field: "slots", words: "Input should be a valid integer; found a text of 3 characters" };

function shown(error: Error | null, isQuiet = false) {
    return (
        <Refusable error={error} isQuiet={isQuiet}>
            <Field label="Name" name="name" />
            <details>
                <summary>More</summary>
                <Field label="Slots" name="slots" hint="How many" />
            </details>
            <Check label="Deferred too" name="include_deferred" />
        </Refusable>
    );
}

it("a refused field says so itself, is gone to, and is unfolded; nothing is said below", () => {
    const { rerender } = render(shown(null));
    rerender(shown(new ApiError(422, "field 'slots': no", [SLOTS])));
    const slots = screen.getByLabelText<HTMLInputElement>("Slots");
    expect(slots.getAttribute("aria-invalid")).toBe("true");
    expect(document.getElementById(slots.getAttribute("aria-describedby") ?? "")?.textContent).toBe(SLOTS.words);
    expect(document.activeElement).toBe(slots);
    expect(slots.closest("details")?.open).toBe(true);
    expect(screen.getByLabelText("Name").getAttribute("aria-invalid")).toBe("false");
    expect(screen.queryByRole("alert")).toBeNull();
    rerender(shown(null));
    expect(slots.getAttribute("aria-invalid")).toBe("false");
});

it("a refusal of what nobody asked for is told, and leaves the cursor where it is", () => {
    const { rerender } = render(shown(null));
    screen.getByLabelText("Name").focus();
    rerender(shown(new FormError([SLOTS]), true));
    expect(screen.getByLabelText("Slots").getAttribute("aria-invalid")).toBe("true");
    expect(document.activeElement).toBe(screen.getByLabelText("Name"));
});

it("what belongs to no field is told below", () => {
    const { rerender } = render(shown(null));
    rerender(shown(new Error("The server cannot be reached.")));
    expect(screen.getByRole("alert").textContent).toContain("The server cannot be reached.");
    rerender(shown(new ApiError(422, "both", [SLOTS, { field: "team_name", words: "no such team" }])));
    expect(screen.getByRole("alert").textContent).toMatch(/team_name: no such team$/);
});

it("a fault within a field is its field's, and several of one field stand together", () => {
    const faults = [
        { field: "folders.0", words: "is empty" },
        { field: "folders.3", words: "is no path" },
        { field: "conf.a", words: "is no number" },
    ];
    const { atFields, rest } = toldOf(new FormError(faults), ["folders", "conf", "conf.a"]);
    expect([...atFields]).toEqual([
        ["folders", "is empty; is no path"],
        ["conf.a", "is no number"],
    ]);
    expect(rest).toBeNull();
    expect(toldOf(new FormError(faults), ["name"]).rest?.message).toBe("is empty; is no path; is no number");
});
