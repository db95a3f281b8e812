import { type QueryKey, useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../api/queries";
import { may, useMe } from "../api/rights";
import { Button } from "../components/button";
import { TextArea } from "../components/field";
import { ErrorNote } from "../components/notes";
import styles from "./actions.module.css";

interface NoteEditorProps {
    dagId: string;
    note: string | null;
    save: (note: string | null) => Promise<unknown>;
    stale: QueryKey;
}

/** A note that people leave for one another; an empty one is none. */
export function NoteEditor({ dagId, note, save, stale }: NoteEditorProps) {
    const me = useMe();
    const [text, setText] = useState<string | null>(null);
    const change = useMutation({
        mutationFn: save,
        onSuccess: async () => {
            await queries.invalidateQueries({ queryKey: stale });
            setText(null);
        },
    });
    if (text === null) {
        return (
            <div className={styles.note}>
                <p>{note ?? "No note."}</p>
                {may(me, "edit runs", dagId) && (
                    <Button onClick={() => setText(note ?? "")}>
                        {note === null ? "Write a note" : "Edit the note"}
                    </Button>
                )}
            </div>
        );
    }
    const written = text.trim() === "" ? null : text;
    return (
        <form
            className={styles.note}
            onSubmit={(event) => {
                event.preventDefault();
                change.mutate(written);
            }}
        >
            <TextArea
                label="Note"
                autoFocus
                value={text}
                maxLength={1000}
                onChange={(event) => setText(event.target.value)}
            />
            {change.error !== null && <ErrorNote error={change.error} />}
            <span className={styles.buttons}>
                <Button onClick={() => setText(null)}>Cancel</Button>
                <Button type="submit" look="main" disabled={change.isPending || written === note}>
                    Save the note
                </Button>
            </span>
        </form>
    );
}
