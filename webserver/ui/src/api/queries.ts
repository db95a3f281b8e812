import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./client";

/** The cache of what the server said. Pages do not poll: the event stream says what to ask again. */
export const queries = new QueryClient({
    defaultOptions: {
        queries: {
            staleTime: Number.POSITIVE_INFINITY,
            gcTime: 60_000,
            refetchOnWindowFocus: false,
            // A refusal will be the same next time; a server that is away may be back.
            retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status < 500),
        },
    },
});
