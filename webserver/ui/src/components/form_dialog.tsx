import { useMutation } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useId } from "react";
import { queries } from "../api/queries";
import { Button } from "./button";
import { Dialog } from "./dialog";
import styles from "./form_dialog.module.css";
import { Refusable } from "./refusable";

interface FormDialogProps {
    title: string;
    /** What the button does, in words: "Save", "Delete pool etl". */
    button: string;
    isDanger?: boolean;
    /** Does it; what it throws is told at its field or below all, and the window stays open. */
    act: (form: FormData) => Promise<unknown>;
    /** Why something else that was asked of the form's fields was refused just now. */
    error?: Error | null;
    onClose: () => void;
    children: ReactNode;
    /** More buttons, before the one that acts. */
    more?: ReactNode;
}

/** A window with a form, or with a question; all that was shown is asked again once it is done. */
export function FormDialog({
    title,
    button,
    isDanger = false,
    act,
    error = null,
    onClose,
    children,
    more,
}: FormDialogProps) {
    const id = useId();
    const acting = useMutation({
        mutationFn: act,
        onSuccess: async () => {
            await queries.invalidateQueries();
            onClose();
        },
    });
    const submit = (event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        acting.mutate(new FormData(event.currentTarget));
    };
    return (
        <Dialog
            title={title}
            onClose={onClose}
            actions={
                <>
                    {more}
                    <Button type="submit" form={id} look={isDanger ? "danger" : "main"} disabled={acting.isPending}>
                        {button}
                    </Button>
                </>
            }
        >
            <form id={id} onSubmit={submit}>
                <Refusable error={error ?? acting.error} className={styles.form}>
                    {children}
                </Refusable>
            </form>
        </Dialog>
    );
}

/** Return what was written in a field of a form, without blanks about it. */
export function written(form: FormData, name: string): string {
    return String(form.get(name) ?? "").trim();
}

/** Return what was written, or null where nothing was. */
export function writtenOrNull(form: FormData, name: string): string | null {
    return written(form, name) || null;
}
