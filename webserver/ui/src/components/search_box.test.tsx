import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SearchBox } from "./search_box";
import { SearchField } from "./search_field";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
    cleanup();
    vi.useRealTimers();
});

const KINDS = [
    ["a box", SearchBox],
    ["a field with its name above it", SearchField],
] as const;

/** Shows the field with a text of the address; what is told goes nowhere until the test hands it on, as a late router. */
function shown(Kind: typeof SearchBox) {
    const told = vi.fn<(text: string) => void>();
    const field = (text: string) => <Kind label="Search" text={text} onText={(next) => told(next)} />;
    const { rerender } = render(field(""));
    return {
        told,
        input: screen.getByLabelText<HTMLInputElement>("Search"),
        address: (text: string) => rerender(field(text)),
        type: (text: string) => fireEvent.change(screen.getByLabelText("Search"), { target: { value: text } }),
        pause: () => act(() => vi.advanceTimersByTime(1000)),
    };
}

for (const [kind, Kind] of KINDS) {
    it(`${kind} shows the text of an address that somebody else changed, Back or a link`, () => {
        const { input, address, type, pause } = shown(Kind);
        address("orders");
        expect(input.value).toBe("orders");
        type("orders of");
        pause();
        address("orders of");
        address("");
        expect(input.value).toBe("");
    });

    it(`${kind} keeps what is typed while the address comes behind`, () => {
        const { input, told, address, type, pause } = shown(Kind);
        type("or");
        pause();
        expect(input.value).toBe("or");
        type("orde");
        pause();
        type("orders");
        // Both arrive late, and neither is what is written by now.
        address("or");
        address("orde");
        expect(input.value).toBe("orders");
        pause();
        expect(told.mock.calls).toEqual([["or"], ["orde"], ["orders"]]);
    });

    it(`${kind} keeps what is typed through other changes, and tells it although each draws it anew`, () => {
        const { input, told, address, type } = shown(Kind);
        type("or");
        for (let at = 0; at < 5; at++) {
            act(() => vi.advanceTimersByTime(100));
            address("");
        }
        expect(input.value).toBe("or");
        expect(told.mock.calls).toEqual([["or"]]);
    });

    it(`${kind} tells at once with Enter, and nothing that the address has already`, () => {
        const { input, told, address, type, pause } = shown(Kind);
        type("or");
        fireEvent.keyDown(input, { key: "Enter" });
        expect(told.mock.calls).toEqual([["or"]]);
        address("or");
        fireEvent.keyDown(input, { key: "Enter" });
        pause();
        expect(told).toHaveBeenCalledTimes(1);
    });
}
