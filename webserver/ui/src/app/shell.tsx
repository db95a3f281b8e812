import { useEffect } from "react";
import { NavLink, Outlet } from "react-router";
import { followLive } from "../api/live";
import { queries } from "../api/queries";
import { MeContext } from "../api/rights";
import { type Me, useSession } from "../api/session";
import { ErrorNote, Skeleton } from "../components/notes";
import { partsFor } from "../pages/admin/parts";
import { AccountMenu } from "./account_menu";
import { ConnectionNote } from "./connection_note";
import { Finder } from "./finder";
import { Login } from "./login";
import styles from "./shell.module.css";

const PLACES = [
    { to: "/", label: "Home" },
    { to: "/dags", label: "DAGs" },
    { to: "/runs", label: "Runs" },
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
    const places = partsFor(me).length > 0 ? [...PLACES, { to: "/admin", label: "Admin" }] : PLACES;
    return (
        <div className={styles.shell}>
            <a className={styles.skip} href="#page">
                Skip to the page
            </a>
            <header className={styles.side}>
                <span className={styles.brand}>Treadle</span>
                <Finder />
                <nav className={styles.nav} aria-label="Pages">
                    {places.map((place) => (
                        <NavLink key={place.to} to={place.to} end={place.to === "/"}>
                            {place.label}
                        </NavLink>
                    ))}
                </nav>
                <AccountMenu me={me} />
            </header>
            <main id="page" className={styles.page}>
                <ConnectionNote />
                <MeContext value={me}>
                    <Outlet />
                </MeContext>
            </main>
        </div>
    );
}
