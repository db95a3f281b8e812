import { answered, api } from "../../api/client";
import { Listing } from "../admin/listing";
import { sessionColumns } from "../admin/login_columns";

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
            columns={sessionColumns((session) => `from ${session.address}`, end)}
        />
    );
}
