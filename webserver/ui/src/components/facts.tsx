import type { ReactNode } from "react";
import styles from "./facts.module.css";

/** Names and what they are, in a line or as many as it takes. */
export function Facts({ children }: { children: ReactNode }) {
    return <dl className={styles.facts}>{children}</dl>;
}

/** One name and what it is. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
    return (
        <div>
            <dt>{name}</dt>
            <dd>{children}</dd>
        </div>
    );
}
