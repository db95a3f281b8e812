import { type ComponentProps, type ReactNode, useId } from "react";
import styles from "./field.module.css";

interface Words {
    label: string;
    hint?: string | null | undefined;
    /** Why what is written cannot be used; shown in place of the hint. */
    problem?: string | undefined;
}

interface FrameProps extends Words {
    id: string;
    children: ReactNode;
}

function Frame({ id, label, hint, problem, children }: FrameProps) {
    const words = problem ?? hint;
    return (
        <div className={styles.field}>
            <label htmlFor={id}>{label}</label>
            {children}
            {words !== undefined && words !== null && (
                <small id={`${id}-hint`} className={problem === undefined ? undefined : styles.problem}>
                    {words}
                </small>
            )}
        </div>
    );
}

/** What ties a control to its words, for those who do not see it. */
function tied(id: string, { hint, problem }: Omit<Words, "label">) {
    return {
        id,
        "aria-describedby": (problem ?? hint ?? undefined) === undefined ? undefined : `${id}-hint`,
        "aria-invalid": problem !== undefined,
    };
}

/** A line to write in, with its name above it. */
export function Field({ label, hint, problem, ...rest }: ComponentProps<"input"> & Words) {
    const id = useId();
    return (
        <Frame id={id} label={label} hint={hint} problem={problem}>
            <input {...tied(id, { hint, problem })} {...rest} />
        </Frame>
    );
}

/** A choice of one of several, with its name above it. */
export function Select({ label, hint, problem, children, ...rest }: ComponentProps<"select"> & Words) {
    const id = useId();
    return (
        <Frame id={id} label={label} hint={hint} problem={problem}>
            <select {...tied(id, { hint, problem })} {...rest}>
                {children}
            </select>
        </Frame>
    );
}

/** Room for several lines, with its name above it. */
export function TextArea({ label, hint, problem, ...rest }: ComponentProps<"textarea"> & Words) {
    const id = useId();
    return (
        <Frame id={id} label={label} hint={hint} problem={problem}>
            <textarea {...tied(id, { hint, problem })} {...rest} />
        </Frame>
    );
}

/** Something to tick, with its name beside it. */
export function Check({ label, hint, problem, ...rest }: Omit<ComponentProps<"input">, "type"> & Words) {
    const id = useId();
    const words = problem ?? hint;
    return (
        <div className={styles.check}>
            <input type="checkbox" {...tied(id, { hint, problem })} {...rest} />
            <label htmlFor={id}>{label}</label>
            {words !== undefined && words !== null && <small id={`${id}-hint`}>{words}</small>}
        </div>
    );
}
