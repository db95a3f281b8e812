import { useState } from "react";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { TriggerDialog } from "./trigger_dialog";

interface TriggerButtonProps {
    dagId: string;
    look?: "main" | "plain" | "quiet";
    /** Whether the button's name says which DAG it is of, where many stand below one another. */
    isOneOfMany?: boolean;
}

/** Opens the form for a new run; not there for those who may not make one. */
export function TriggerButton({ dagId, look = "plain", isOneOfMany = false }: TriggerButtonProps) {
    const [isOpen, setOpen] = useState(false);
    const me = useMe();
    if (!may(me, "trigger runs", dagId)) return null;
    return (
        <>
            <Button look={look} aria-label={isOneOfMany ? `Trigger ${dagId}` : undefined} onClick={() => setOpen(true)}>
                Trigger
            </Button>
            {isOpen && <TriggerDialog dagId={dagId} onClose={() => setOpen(false)} />}
        </>
    );
}
