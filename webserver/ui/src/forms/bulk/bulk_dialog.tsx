import { type ReactNode, useState } from "react";
import { queries } from "../../api/queries";
import { Button } from "../../components/button";
import { Dialog } from "../../components/dialog";
import styles from "../forms.module.css";
import { each, type Failure } from "./each";

interface BulkDialogProps<Thing> {
    title: string;
    things: readonly Thing[];
    nameOf: (thing: Thing) => string;
    /** What each loses or becomes, in words beside its name. */
    effectOf?: (thing: Thing) => ReactNode;
    /** What the button says, with the number in it: "Pause 12 DAGs". */
    button: string;
    isDanger?: boolean;
    isReady?: boolean;
    act: (thing: Thing) => Promise<unknown>;
    onClose: () => void;
    children?: ReactNode;
}

/** Lists what will be touched, does it to each, and tells one by one what the server refused. */
export function BulkDialog<Thing>(props: BulkDialogProps<Thing>) {
    const { title, things, nameOf, effectOf, button, isDanger = false, isReady = true, act, onClose, children } = props;
    const [done, setDone] = useState<number | null>(null);
    const [failures, setFailures] = useState<Failure[] | null>(null);
    const run = async () => {
        setDone(0);
        const failed = await each(things, nameOf, act, setDone);
        await queries.invalidateQueries();
        if (failed.length === 0) onClose();
        else setFailures(failed);
    };
    if (failures !== null) return <Refused title={title} count={things.length} failures={failures} onClose={onClose} />;
    return (
        <Dialog
            title={title}
            onClose={onClose}
            actions={
                <Button look={isDanger ? "danger" : "main"} onClick={run} disabled={done !== null || !isReady}>
                    {done === null ? button : `${done} of ${things.length} done`}
                </Button>
            }
        >
            <div className={styles.form}>
                {children}
                <ul className={styles.list}>
                    {things.map((thing) => (
                        <li key={nameOf(thing)}>
                            {nameOf(thing)}
                            {effectOf !== undefined && <span className={styles.quiet}>{effectOf(thing)}</span>}
                        </li>
                    ))}
                </ul>
            </div>
        </Dialog>
    );
}

interface RefusedProps {
    title: string;
    count: number;
    failures: readonly Failure[];
    onClose: () => void;
}

function Refused({ title, count, failures, onClose }: RefusedProps) {
    return (
        <Dialog title={title} onClose={onClose}>
            <div className={styles.form} role="alert">
                <p>
                    {count - failures.length} of {count} done; {failures.length} refused:
                </p>
                <ul className={styles.list}>
                    {failures.map((failure) => (
                        <li key={failure.name}>
                            {failure.name}
                            <span className={styles.problem}>{failure.reason}</span>
                        </li>
                    ))}
                </ul>
            </div>
        </Dialog>
    );
}
