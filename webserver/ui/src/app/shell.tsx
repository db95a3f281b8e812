import { useEffect } from "react";
import { NavLink, Outlet } from "react-router";
import { followLive } from "../api/live";
import { queries } from "../api/queries";
import { MeContext } from "../api/rights";
import { type Me, useSession } from "../api/session";
import { ErrorNote, Skeleton } from "../components/notes";
import { AccountMenu } from "./account_menu";
import { Login } from "./login";
import styles from "./shell.module.css";

const PLACES = [
    { to: "/", label: "Home" },
    { to: "/dags", label: "DAGs" },
];

/** What surrounds every page: who is logged in, the way to the other pages, and the live stream. */
export function Shell() {
    const session = useSession();
    if (session.isPending) return <Skeleton height="100vh" />;
    if (session.isError) return <ErrorNote error={session.error} />;
    return session.data === null ? <Login /> : <Frame me={session.data} />;
}

function Frame({ me }: { me: Me }) {
    useEffect(() => followLive(queries), []);
    return (
        <div className={styles.shell}>
            <a className={styles.skip} href="#page">
                Skip to the page
            </a>
            <header className={styles.side}>
                <span className={styles.brand}>Treadle</span>
                <nav className={styles.nav} aria-label="Pages">
                    {PLACES.map((place) => (
                        <NavLink key={place.to} to={place.to} end={place.to === "/"}>
                            {place.label}
                        </NavLink>
                    ))}
                </nav>
                <AccountMenu me={me} />
            </header>
            <main id="page" className={styles.page}>
                <MeContext value={me}>
                    <Outlet />
                </MeContext>
            </main>
        </div>
    );
}
