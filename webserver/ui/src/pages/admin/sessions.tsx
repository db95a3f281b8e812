import { answered, api, type Got } from "../../api/client";
import { FromNow } from "../../components/clock";
import { Confirmed } from "./confirmed";
import { Listing } from "./listing";
import { sessionColumns } from "./login_columns";

type Session = Got<"/auth/sessions">["sessions"][number];

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
                    ...sessionColumns<Session>(
                        (session) => `of ${session.username} from ${session.address}`,
                        endSession,
                    ),
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
