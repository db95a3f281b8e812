import { ApiError } from "../api/client";

const OF_STATUS: Record<number, string> = {
    400: "Not accepted",
    401: "Not logged in",
    403: "Not allowed",
    404: "Not found",
    409: "Not possible now",
    413: "Too large",
    422: "Not accepted",
    429: "Too many requests",
    502: "The server is not ready",
    503: "The server is not ready",
    504: "The server is not ready",
};

/** Return what kind of failure it is, in a few words to stand above its sentence. */
export function titleOf(error: Error): string {
    if (error instanceof ApiError) {
        return OF_STATUS[error.status] ?? (error.status >= 500 ? "The server failed" : "Not accepted");
    }
    // `answered` says so where no answer came.
    return error.cause instanceof TypeError ? "No connection to the server" : "That did not work";
}

interface Asked {
    isError: boolean;
    error: Error | null;
    data: unknown;
}

/**
 * Whether there is an error to show in place of the data. What was read before stays while the server is away, and the
 * note of the lost connection says that it may be old; what the server refuses by now is not shown any longer.
 */
export function hasFailed<Q extends Asked>(query: Q): query is Q & { error: Error } {
    if (query.error === null) return false;
    return query.data === undefined || (query.error instanceof ApiError && query.error.status < 500);
}
