import { useState } from "react";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { BackfillDialog } from "./backfill_dialog";

/** Opens the form for a backfill; not there for those who may not make runs. */
export function BackfillButton({ dagId, look = "plain" }: { dagId: string; look?: "main" | "plain" }) {
    const [isOpen, setOpen] = useState(false);
    const me = useMe();
    if (!may(me, "trigger runs", dagId)) return null;
    return (
        <>
            <Button look={look} onClick={() => setOpen(true)}>
                Backfill
            </Button>
            {isOpen && <BackfillDialog dagId={dagId} onClose={() => setOpen(false)} />}
        </>
    );
}
