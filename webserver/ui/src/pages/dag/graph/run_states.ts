import { useQuery } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { answered, api, type Got } from "../../../api/client";
import { keys } from "../../../api/keys";

export type RunStates = Got<"/ui/dags/{dag_id}/runs/{run_id}/states">;
export type CellState = RunStates["tasks"][string];

/** The states of the tasks and groups of a run, kept up to date by the live stream. */
export function useRunStates(dagId: string, runId: string | null) {
    return useQuery({
        queryKey: keys.run(dagId, runId ?? "", "states"),
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/runs/{run_id}/states", {
                    params: { path: { dag_id: dagId, run_id: runId ?? "" } },
                }),
            ),
        enabled: runId !== null,
    });
}

/** What the nodes of a graph look at beside themselves, so that a state that changes draws no more than its node. */
interface Seen {
    dagId: string;
    runId: string | null;
    states: Record<string, CellState> | undefined;
    /** The chosen task and its kin; null where none is chosen. */
    kin: ReadonlySet<string> | null;
    chosen: string | null;
    fold: (id: string) => void;
    choose: (id: string) => void;
}

export const SeenContext = createContext<Seen | null>(null);

export function useSeen(): Seen {
    const seen = useContext(SeenContext);
    if (seen === null) throw new Error("useSeen is used outside of a graph");
    return seen;
}
