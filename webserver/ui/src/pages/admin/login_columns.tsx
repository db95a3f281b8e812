import { FromNow } from "../../components/clock";
import type { Column } from "../../components/table";
import styles from "./admin.module.css";
import { agentOf } from "./agents";
import { Confirmed } from "./confirmed";

interface Session {
    id: string;
    address: string;
    user_agent: string;
    in_browser: boolean;
    current: boolean;
    created_at: string;
    expires_at: string;
}

/** Where somebody is logged in, and the button that ends it; `nameOf` tells one session from the others, in words. */
export function sessionColumns<S extends Session>(
    nameOf: (session: S) => string,
    end: (id: string) => Promise<unknown>,
): Column<S>[] {
    return [
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
                        label={`End the session ${nameOf(session)}`}
                        title={`End the session ${nameOf(session)}?`}
                        button="End session"
                        effect="Whoever uses it is logged out at once, and has to log in again."
                        act={() => end(session.id)}
                    />
                ),
        },
    ];
}
