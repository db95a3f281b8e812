import { useState } from "react";
import { may, useMe } from "../api/rights";
import { Button } from "../components/button";
import { ClearDialog } from "./clear_dialog";
import { MarkDialog, type MarkState } from "./mark_dialog";
import { Menu } from "./menu";

interface TaskActionsProps {
    dagId: string;
    runId: string;
    taskId: string;
    /** null: all instances of a mapped task. */
    mapIndex: number | null;
}

const STATES: readonly MarkState[] = ["success", "failed", "skipped"];

/** What may be done with a task in a run; what this account may not do is not shown. */
export function TaskActions({ dagId, runId, taskId, mapIndex }: TaskActionsProps) {
    const me = useMe();
    const [shown, setShown] = useState<"clear" | MarkState | null>(null);
    const close = () => setShown(null);
    const target = { dagId, runId, taskIds: [taskId], mapIndex };
    return (
        <>
            {may(me, "clear runs", dagId) && <Button onClick={() => setShown("clear")}>Clear…</Button>}
            {may(me, "edit runs", dagId) && (
                <Menu
                    label="Mark as"
                    items={STATES.map((state) => ({ label: `${state}…`, onChoose: () => setShown(state) }))}
                />
            )}
            {shown === "clear" && <ClearDialog title={`Clear ${taskId}`} target={target} onClose={close} />}
            {shown !== null && shown !== "clear" && (
                <MarkDialog {...{ dagId, runId, taskId, mapIndex }} state={shown} onClose={close} />
            )}
        </>
    );
}
