import type { ComponentProps } from "react";
import styles from "./button.module.css";

interface Looks {
    /** `main`: what one comes to do; `danger`: it takes something away. */
    look?: "main" | "plain" | "quiet" | "danger";
}

/** A button; `type` is button unless told otherwise, so none submits a form by accident. */
export function Button({ look = "plain", className, type = "button", ...rest }: ComponentProps<"button"> & Looks) {
    return (
        <button {...rest} type={type} className={[styles.button, styles[look], className].filter(Boolean).join(" ")} />
    );
}
