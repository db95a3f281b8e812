import { useQuery } from "@tanstack/react-query";
import type { Middleware } from "openapi-fetch";
import { ApiError, answered, api, type Got } from "./client";
import { keys } from "./keys";
import { queries } from "./queries";

export type Me = Got<"/ui/me">;

const AGAIN_MILLISECONDS = 5000;

let csrfToken: string | undefined;

/** Sends the proof that a write comes from these pages; the server wants it beside the cookie (case F7). */
const proof: Middleware = {
    onRequest({ request }) {
        if (csrfToken !== undefined && request.method !== "GET") request.headers.set("X-CSRF-Token", csrfToken);
        return request;
    },
};
api.use(proof);

/** Return the account that is logged in, or null. Every page waits for it, so rights are known before buttons show. */
export function useSession() {
    return useQuery({
        queryKey: keys.me,
        queryFn: currentAccount,
        retry: false,
        // Without a session no stream tells that the server is there again.
        refetchInterval: ({ state }) => (state.status === "error" ? AGAIN_MILLISECONDS : false),
    });
}

// The server saw no session's cookie when it gave the page: nobody is asked for, who would only be refused.
let isNobody = document.querySelector("base")?.dataset.session === "none";

async function currentAccount(): Promise<Me | null> {
    if (isNobody) {
        isNobody = false;
        return null;
    }
    try {
        // Together: every page waits for both.
        const [proven, me] = await Promise.all([answered(api.GET("/auth/me")), answered(api.GET("/ui/me"))]);
        csrfToken = proven.csrf_token;
        return me;
    } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null;
        throw error;
    }
}

/** Open a session; throws `ApiError` with the server's sentence when name or password are wrong. */
export async function logIn(username: string, password: string): Promise<void> {
    await answered(api.POST("/auth/login", { body: { username, password } }));
    await queries.resetQueries();
}

/** End the session of this browser, and forget all that it was shown. */
export async function logOut(): Promise<void> {
    await answered(api.POST("/auth/logout"));
    csrfToken = undefined;
    // Not `clear`: it would take the query that the shell looks at away from under it.
    queries.setQueryData(keys.me, null);
    queries.removeQueries({ predicate: (query) => query.queryKey[0] !== keys.me[0] });
}
