import { Fragment } from "react";
import styles from "./code.module.css";
import type { Piece } from "./python";

/** What scrolls has to be reached with the keyboard too. */
export const REACHABLE = { tabIndex: 0 };

/** One line of code in colours. */
export function Line({ pieces }: { pieces: readonly Piece[] }) {
    let column = 0;
    return pieces.map(({ kind, text }) => {
        const key = column;
        column += text.length;
        return kind === "plain" ? (
            <Fragment key={key}>{text}</Fragment>
        ) : (
            <span key={key} className={styles[kind]}>
                {text}
            </span>
        );
    });
}
