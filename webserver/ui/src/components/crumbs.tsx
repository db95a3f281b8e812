import { Link } from "react-router";
import styles from "./crumbs.module.css";

interface Crumb {
    to: string;
    label: string;
}

/** The way from a page to what it is part of. */
export function Crumbs({ crumbs }: { crumbs: readonly Crumb[] }) {
    return (
        <nav className={styles.crumbs} aria-label="Where this is">
            {crumbs.map((crumb) => (
                <Link key={crumb.to} to={crumb.to}>
                    {crumb.label}
                </Link>
            ))}
        </nav>
    );
}
