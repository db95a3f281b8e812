import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "./button";
import styles from "./dialog.module.css";

interface DialogProps {
    title: string;
    onClose: () => void;
    children: ReactNode;
    /** The buttons that act; "Close" stands beside them. */
    actions?: ReactNode;
}

/** A window over the page, which takes the keyboard until it is closed. Drawn only while it is open. */
export function Dialog({ title, onClose, children, actions }: DialogProps) {
    const ref = useRef<HTMLDialogElement>(null);
    const heading = useId();
    useEffect(() => {
        ref.current?.showModal();
        // What is longer than the window scrolls, and would take the focus as the first that can have it.
        ref.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
    }, []);
    return (
        <dialog ref={ref} className={styles.dialog} aria-labelledby={heading} onClose={onClose}>
            <h2 id={heading}>{title}</h2>
            <div className={styles.body}>{children}</div>
            <div className={styles.actions}>
                <Button onClick={() => ref.current?.close()}>Close</Button>
                {actions}
            </div>
        </dialog>
    );
}
