import type { ComponentProps, KeyboardEvent } from "react";
import { Field } from "./field";
import { useTyped } from "./use_typed";

interface SearchFieldProps extends Pick<ComponentProps<"input">, "placeholder" | "list" | "onFocus"> {
    label: string;
    hint?: string;
    /** What the address says. */
    text: string;
    onText: (text: string) => void;
    /** Enter, where nothing was written that is still to be told. */
    onEnter?: (event: KeyboardEvent) => void;
}

/** A line to search by, with its name above it; it follows the address, and tells what was written after a pause or Enter. */
export function SearchField({ text, onText, onEnter, ...rest }: SearchFieldProps) {
    const [typed, write, tell] = useTyped(text, onText);
    return (
        <Field
            type="search"
            value={typed}
            onChange={(event) => write(event.target.value)}
            onKeyDown={(event) => {
                if (event.key === "Enter" && !tell()) onEnter?.(event);
            }}
            {...rest}
        />
    );
}
