import { NavLink, Outlet } from "react-router";
import styles from "./shell.module.css";

const PLACES = [{ to: "/", label: "Home" }];

/** What surrounds every page: the way to the others, and the page itself. */
export function Shell() {
    return (
        <div className={styles.shell}>
            <a className={styles.skip} href="#page">
                Skip to the page
            </a>
            <nav className={styles.nav} aria-label="Pages">
                <span className={styles.brand}>Treadle</span>
                {PLACES.map((place) => (
                    <NavLink key={place.to} to={place.to} end={place.to === "/"}>
                        {place.label}
                    </NavLink>
                ))}
            </nav>
            <main id="page" className={styles.page}>
                <Outlet />
            </main>
        </div>
    );
}
