import { answered, api } from "../../api/client";
import { FromNow } from "../../components/clock";
import styles from "./admin.module.css";
import { agentOf } from "./agents";
import { Confirmed } from "./confirmed";
import { Listing } from "./listing";

/** Where everybody is logged in, and the API tokens that everybody has; each can be ended. */
export function Component() {
    return (
        <>
            <Listing
                title="Sessions"
                about="Where people and programs are logged in."
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
                                {session.address} {session.current && <strong>(this one)</strong>}
                                <div className={styles.quiet} title={session.user_agent}>
                                    {agentOf(session.user_agent)}
                                </div>
                            </div>
                        ),
                    },
                    { head: "By", cell: (session) => (session.in_browser ? "browser" : "program") },
                    { head: "Since", cell: (session) => <FromNow at={session.created_at} /> },
                    { head: "Ends", cell: (session) => <FromNow at={session.expires_at} /> },
                    {
                        head: "Actions",
                        isHeadHidden: true,
                        cell: ({ id, username, address, current }) =>
                            !current && (
                                <Confirmed
                                    words="End"
                                    label={`End the session of ${username} from ${address}`}
                                    title={`End the session of ${username} from ${address}?`}
                                    button="End session"
                                    effect="Whoever uses it is logged out at once, and has to log in again."
                                    act={() => endSession(id)}
                                />
                            ),
                    },
                ]}
            />
            <Listing
                title="API tokens"
                about="What programs log in with, as the account that made it."
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
                        cell: ({ id, name, username }) => (
                            <Confirmed
                                words="Revoke"
                                label={`Revoke token ${name} of ${username}`}
                                title={`Revoke token ${name} of ${username}?`}
                                button="Revoke token"
                                effect="Programs that log in with it are refused at once. It cannot be made valid again."
                                act={() => revoke(id)}
                            />
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
