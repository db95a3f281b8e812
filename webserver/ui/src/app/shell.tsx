import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { NavLink, Outlet } from "react-router";
import { answered, api } from "../api/client";
import { keys } from "../api/keys";
import { followLive } from "../api/live";
import { queries } from "../api/queries";
import { MeContext } from "../api/rights";
import { type Me, useSession } from "../api/session";
import { Brand } from "../components/brand";
import { Skeleton } from "../components/notes";
import { QueryError } from "../components/query_error";
import { PageShortcuts } from "../keyboard/page_shortcuts";
import { partsFor } from "../pages/admin/parts";
import { AccountMenu } from "./account_menu";
import { ConnectionNote } from "./connection_note";
import { Finder } from "./finder";
import { Login } from "./login";
import styles from "./shell.module.css";

const PLACES = [
    { to: "/", label: "Home", key: "h" },
    { to: "/dags", label: "DAGs", key: "d" },
    { to: "/runs", label: "Runs", key: "r" },
    { to: "/assets", label: "Assets", key: "a" },
    { to: "/timeline", label: "Timeline", key: "t" },
    { to: "/human-steps", label: "Human steps", key: "s" },
];
const ADMIN = { to: "/admin", label: "Admin", key: "m" };

/** What surrounds every page: who is logged in, the way to the other pages, and the live stream. */
export function Shell() {
    const session = useSession();
    if (session.isPending) return <Skeleton height="100vh" />;
    if (session.isLoadingError) return <Unreachable error={session.error} />;
    if (session.data === undefined) return null;
    return session.data === null ? <Login /> : <Frame me={session.data} />;
}

/** Nothing is known yet, not even who one is. */
function Unreachable({ error }: { error: Error }) {
    return (
        <main className={styles.alone}>
            <h1>
                <Brand />
            </h1>
            <QueryError error={error} />
        </main>
    );
}

function Frame({ me }: { me: Me }) {
    useEffect(() => followLive(queries), []);
    const parts = partsFor(me);
    const places = parts.length > 0 ? [...PLACES, ADMIN] : PLACES;
    const pages = [
        ...places,
        ...parts.map(({ path, label }) => ({ to: `/admin/${path}`, label: `Admin: ${label}`, isPart: true })),
        { to: "/account", label: "Your account" },
    ];
    return (
        <div className={styles.shell}>
            <a className={styles.skip} href="#page">
                Skip to the page
            </a>
            <header className={styles.side}>
                <span className={styles.brand}>
                    <Brand />
                </span>
                <Finder pages={pages} />
                <nav className={styles.nav} aria-label="Pages">
                    {places.map((place) => (
                        <NavLink key={place.to} to={place.to} end={place.to === "/"}>
                            {place.label}
                            {place.to === "/human-steps" && <OpenSteps />}
                        </NavLink>
                    ))}
                </nav>
                <AccountMenu me={me}>
                    <PageShortcuts places={places} />
                </AccountMenu>
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

/** How many questions wait for an answer. */
function OpenSteps() {
    const open = useQuery({
        queryKey: [...keys.humanSteps, "open"],
        queryFn: () => answered(api.GET("/ui/humanSteps", { params: { query: { limit: 1 } } })),
        select: (found) => found.open,
    });
    if (open.data === undefined || open.data === 0) return null;
    return (
        <span className={styles.count}>
            {open.data}
            <span className={styles.aside}> open</span>
        </span>
    );
}
