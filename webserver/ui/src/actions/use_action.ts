import { type QueryKey, useMutation } from "@tanstack/react-query";
import { queries } from "../api/queries";

/** Do something once, make stale what it changed, and close the dialog; a refusal stays to be read. */
export function useAction(act: () => Promise<unknown>, stale: readonly QueryKey[], onDone: () => void) {
    return useMutation({
        mutationFn: act,
        onSuccess: async () => {
            onDone();
            await Promise.all(stale.map((queryKey) => queries.invalidateQueries({ queryKey })));
        },
    });
}
