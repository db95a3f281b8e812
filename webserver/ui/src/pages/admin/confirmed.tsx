import { useState } from "react";
import { Button } from "../../components/button";
import { FormDialog } from "../../components/form_dialog";
import styles from "./admin.module.css";

interface ConfirmedProps {
    /** What stands on the button in the row. */
    words: string;
    /** What the button is for those who do not see its row. */
    label: string;
    title: string;
    /** What the button that acts says. */
    button: string;
    /** What will be so afterwards. */
    effect: string;
    act: () => Promise<unknown>;
}

/** A button in a row that takes something away: it tells the effect first. */
export function Confirmed({ words, label, title, button, effect, act }: ConfirmedProps) {
    const [isOpen, setOpen] = useState(false);
    return (
        <div className={styles.row}>
            <Button look="quiet" aria-label={label} onClick={() => setOpen(true)}>
                {words}
            </Button>
            {isOpen && (
                <FormDialog title={title} button={button} isDanger act={act} onClose={() => setOpen(false)}>
                    <p>{effect}</p>
                </FormDialog>
            )}
        </div>
    );
}
