import { answered, api } from "../../api/client";
import { queries } from "../../api/queries";
import { Button } from "../../components/button";
import { FromNow } from "../../components/clock";
import styles from "./admin.module.css";
import { Listing } from "./listing";

/** Where everybody is logged in, and the API tokens that everybody has; each can be ended. */
export function Component() {
    return (
        <>
            <h2>Sessions</h2>
            <Listing
                label="Sessions"
                cacheKey={["sessions"]}
                ask={async () => {
                    const found = await answered(api.GET("/auth/sessions"));
                    return { rows: found.sessions, total: found.total_entries };
                }}
                keyOf={(session) => session.id}
                empty={{ title: "No sessions", words: "Nobody is logged in." }}
                columns={[
                    { head: "Account", cell: (session) => <strong>{session.username}</strong> },
                    {
                        head: "Where",
                        cell: (session) => (
                            <div>
                                {session.address}
                                <div className={styles.quiet}>{session.user_agent}</div>
                            </div>
                        ),
                    },
                    { head: "By", cell: (session) => (session.in_browser ? "browser" : "program") },
                    { head: "Since", cell: (session) => <FromNow at={session.created_at} /> },
                    { head: "Ends", cell: (session) => <FromNow at={session.expires_at} /> },
                    {
                        head: "Actions",
                        isHeadHidden: true,
                        cell: ({ id, username, current }) =>
                            !current && (
                                <End label={`End a session of ${username}`} words="End" end={() => endSession(id)} />
                            ),
                    },
                ]}
            />
            <h2>API tokens</h2>
            <Listing
                label="API tokens"
                cacheKey={["tokens"]}
                ask={async () => {
                    const found = await answered(api.GET("/auth/tokens"));
                    return { rows: found.tokens, total: found.total_entries };
                }}
                keyOf={(token) => token.id}
                empty={{ title: "No API tokens", words: "Everybody makes their own, on the page of their account." }}
                columns={[
                    { head: "Account", cell: (token) => <strong>{token.username}</strong> },
                    { head: "Name", cell: (token) => token.name },
                    { head: "May", cell: (token) => token.scopes?.join(", ") ?? "all that the account may" },
                    { head: "Expires", cell: (token) => <FromNow at={token.expires_at} /> },
                    {
                        head: "Last used",
                        cell: (token) => (token.last_used_at === null ? "never" : <FromNow at={token.last_used_at} />),
                    },
                    {
                        head: "Actions",
                        isHeadHidden: true,
                        cell: ({ id, name }) => (
                            <End label={`Revoke token ${name}`} words="Revoke" end={() => revoke(id)} />
                        ),
                    },
                ]}
            />
        </>
    );
}

const endSession = (id: string) =>
    answered(api.DELETE("/auth/sessions/{session_id}", { params: { path: { session_id: id } } }));

const revoke = (id: string) => answered(api.DELETE("/auth/tokens/{token_id}", { params: { path: { token_id: id } } }));

function End({ label, words, end }: { label: string; words: string; end: () => Promise<unknown> }) {
    const click = async () => {
        await end();
        await queries.invalidateQueries();
    };
    return (
        <div className={styles.row}>
            <Button look="quiet" aria-label={label} onClick={() => void click()}>
                {words}
            </Button>
        </div>
    );
}
