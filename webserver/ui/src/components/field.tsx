import { type ComponentProps, type ReactNode, useId } from "react";
import styles from "./field.module.css";
import { useFault } from "./refusable";

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

interface LineProps extends ComponentProps<"input">, Words {
    /** What is offered to choose from while one writes. */
    among?: readonly string[] | undefined;
}

/** A line to write in, with its name above it. */
export function Field({ label, hint, problem: own, among, ...rest }: LineProps) {
    const id = useId();
    const problem = useFault(rest.name) ?? own;
    return (
        <Frame id={id} label={label} hint={hint} problem={problem}>
            <input
                {...tied(id, { hint, problem })}
                list={among && `${id}-list`}
                autoComplete={among && "off"}
                {...rest}
            />
            {among !== undefined && (
                <datalist id={`${id}-list`}>
                    {among.map((one) => (
                        <option key={one} value={one} />
                    ))}
                </datalist>
            )}
        </Frame>
    );
}

/** A choice of one of several, with its name above it. */
export function Select({ label, hint, problem: own, children, ...rest }: ComponentProps<"select"> & Words) {
    const id = useId();
    const problem = useFault(rest.name) ?? own;
    return (
        <Frame id={id} label={label} hint={hint} problem={problem}>
            <select {...tied(id, { hint, problem })} {...rest}>
                {children}
            </select>
        </Frame>
    );
}

/** Room for several lines, with its name above it. */
export function TextArea({ label, hint, problem: own, ...rest }: ComponentProps<"textarea"> & Words) {
    const id = useId();
    const problem = useFault(rest.name) ?? own;
    return (
        <Frame id={id} label={label} hint={hint} problem={problem}>
            <textarea {...tied(id, { hint, problem })} {...rest} />
        </Frame>
    );
}

/** Something to tick, with its name beside it. */
export function Check({ label, hint, problem: own, ...rest }: Omit<ComponentProps<"input">, "type"> & Words) {
    const id = useId();
    const problem = useFault(rest.name) ?? own;
    const words = problem ?? hint;
    return (
        <div className={styles.check}>
            <input type="checkbox" {...tied(id, { hint, problem })} {...rest} />
            <label htmlFor={id}>{label}</label>
            {words !== undefined && words !== null && (
                <small id={`${id}-hint`} className={problem === undefined ? undefined : styles.problem}>
                    {words}
                </small>
            )}
        </div>
    );
}
