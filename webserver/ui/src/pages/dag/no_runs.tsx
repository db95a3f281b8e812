import { EmptyNote } from "../../components/notes";
import { useDag } from "./shape";

/** In place of the runs of a DAG that has none: what has to be done for one. */
export function NoRuns() {
    const { is_paused: isPaused, schedule } = useDag();
    return (
        <EmptyNote title="No runs yet">
            <p>{wordsFor(isPaused, schedule !== null)}</p>
        </EmptyNote>
    );
}

function wordsFor(isPaused: boolean, hasSchedule: boolean): string {
    if (!hasSchedule) return isPaused ? "Turn the DAG on and trigger a run." : "It has no schedule: trigger a run.";
    if (isPaused) return "Turn the DAG on to have its schedule start runs, or trigger one by hand.";
    return "Its schedule starts the first one; or trigger one by hand.";
}
