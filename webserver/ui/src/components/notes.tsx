import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import { titleOf } from "./failures";
import styles from "./notes.module.css";

/** What went wrong: of which kind, in the server's sentence, and a way to try again where there is one. */
export function ErrorNote({ error, children }: { error: Error; children?: ReactNode }) {
    return (
        <div className={styles.error} role="alert">
            <div>
                <h2>{titleOf(error)}</h2>
                <p>{error.message}</p>
            </div>
            {children}
        </div>
    );
}

/** What an empty page or list says: what is not there, and what to do next. */
export function EmptyNote({ title, children }: { title: string; children?: ReactNode }) {
    return (
        <div className={styles.empty}>
            <h2>{title}</h2>
            {children}
        </div>
    );
}

/** Holds the place of what is loading, of the same height; it shows itself only when loading takes long. */
export function Skeleton({ height }: { height: string }) {
    const [shown, setShown] = useState(false);
    useEffect(() => {
        const timer = setTimeout(() => setShown(true), 300);
        return () => clearTimeout(timer);
    }, []);
    return (
        <div
            className={shown ? styles.skeleton : undefined}
            style={{ height }}
            aria-busy="true"
            role="status"
            aria-label="Loading"
        />
    );
}
