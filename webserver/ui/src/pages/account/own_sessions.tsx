import { answered, api } from "../../api/client";
import { FromNow } from "../../components/clock";
import styles from "../admin/admin.module.css";
import { agentOf } from "../admin/agents";
import { Confirmed } from "../admin/confirmed";
import { Listing } from "../admin/listing";

/** Where one is logged in. */
export function OwnSessions() {
    const end = (id: string) =>
        answered(api.DELETE("/auth/me/sessions/{session_id}", { params: { path: { session_id: id } } }));
    return (
        <Listing
            label="Sessions"
            title="Sessions"
            about="Where you are logged in."
            cacheKey={["own sessions"]}
            ask={async () => {
                const found = await answered(api.GET("/auth/me/sessions"));
                return { rows: found.sessions, total: found.total_entries };
            }}
            keyOf={(session) => session.id}
            empty={{ title: "No sessions", words: "" }}
            columns={[
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
                    cell: (session) =>
                        !session.current && (
                            <Confirmed
                                words="End"
                                label={`End the session from ${session.address}`}
                                title={`End the session from ${session.address}?`}
                                button="End session"
                                effect="Whoever uses it is logged out at once, and has to log in again."
                                act={() => end(session.id)}
                            />
                        ),
                },
            ]}
        />
    );
}
