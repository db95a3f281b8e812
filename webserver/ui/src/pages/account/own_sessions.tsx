import { answered, api } from "../../api/client";
import { queries } from "../../api/queries";
import { Button } from "../../components/button";
import { FromNow } from "../../components/clock";
import styles from "../admin/admin.module.css";
import { Listing } from "../admin/listing";

/** Where one is logged in. */
export function OwnSessions() {
    const end = async (id: string) => {
        await answered(api.DELETE("/auth/me/sessions/{session_id}", { params: { path: { session_id: id } } }));
        await queries.invalidateQueries();
    };
    return (
        <Listing
            label="Sessions"
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
                    cell: (session) =>
                        !session.current && (
                            <div className={styles.row}>
                                <Button
                                    look="quiet"
                                    aria-label={`End the session from ${session.address}`}
                                    onClick={() => void end(session.id)}
                                >
                                    End
                                </Button>
                            </div>
                        ),
                },
            ]}
        />
    );
}
