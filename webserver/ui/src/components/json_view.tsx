import { useState } from "react";
import { Button } from "./button";
import styles from "./json_view.module.css";

/** How many entries of a list are drawn before one asks for more. */
const SHOWN = 100;

/** A value of JSON, to be opened part by part; what is large begins closed. */
export function JsonView({ value }: { value: unknown }) {
    const [said, setSaid] = useState("Copy");
    const copy = () =>
        void navigator.clipboard.writeText(JSON.stringify(value, null, 2)).then(
            () => setSaid("Copied"),
            () => setSaid("The browser did not allow to copy"),
        );
    return (
        <div className={styles.view}>
            <Button look="quiet" className={styles.copy} onClick={copy}>
                {said}
            </Button>
            <Value value={value} depth={0} />
        </div>
    );
}

function Value({ value, depth }: { value: unknown; depth: number }) {
    if (typeof value === "object" && value !== null) return <Parts value={value} depth={depth} />;
    const kind = value === null ? "null" : typeof value;
    return <span data-kind={kind}>{typeof value === "string" && value !== "" ? value : JSON.stringify(value)}</span>;
}

function Parts({ value, depth }: { value: object; depth: number }) {
    const entries = Object.entries(value);
    const isList = Array.isArray(value);
    const [isOpen, setOpen] = useState(depth < 2 && entries.length <= SHOWN);
    const [shown, setShown] = useState(SHOWN);
    if (entries.length === 0) return <span>{isList ? "[ ]" : "{ }"}</span>;
    const unit = isList ? "item" : "key";
    return (
        <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>
                {isList ? "[ ]" : "{ }"} {entries.length.toLocaleString("en")} {unit}
                {entries.length === 1 ? "" : "s"}
            </summary>
            {isOpen && (
                <ul>
                    {entries.slice(0, shown).map(([name, part]) => (
                        <li key={name}>
                            <b>{name}</b> <Value value={part} depth={depth + 1} />
                        </li>
                    ))}
                    {entries.length > shown && (
                        <li>
                            <Button look="quiet" onClick={() => setShown(shown + 10 * SHOWN)}>
                                Show more of {entries.length.toLocaleString("en")}
                            </Button>
                        </li>
                    )}
                </ul>
            )}
        </details>
    );
}
