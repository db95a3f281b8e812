import { type ComponentProps, useId } from "react";
import styles from "./field.module.css";

interface Words {
    label: string;
    hint?: string;
}

/** A line to write in, with its name above it. */
export function Field({ label, hint, ...rest }: ComponentProps<"input"> & Words) {
    const id = useId();
    return (
        <div className={styles.field}>
            <label htmlFor={id}>{label}</label>
            <input id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} {...rest} />
            {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
        </div>
    );
}

/** A choice of one of several, with its name above it. */
export function Select({ label, hint, children, ...rest }: ComponentProps<"select"> & Words) {
    const id = useId();
    return (
        <div className={styles.field}>
            <label htmlFor={id}>{label}</label>
            <select id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} {...rest}>
                {children}
            </select>
            {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
        </div>
    );
}

/** Room for several lines, with its name above it. */
export function TextArea({ label, hint, ...rest }: ComponentProps<"textarea"> & Words) {
    const id = useId();
    return (
        <div className={styles.field}>
            <label htmlFor={id}>{label}</label>
            <textarea id={id} aria-describedby={hint === undefined ? undefined : `${id}-hint`} {...rest} />
            {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
        </div>
    );
}
