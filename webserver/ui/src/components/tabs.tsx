import { NavLink } from "react-router";
import styles from "./tabs.module.css";

export interface Tab {
    to: string;
    label: string;
    /** Whether only this very address is the tab's, and none below it. */
    end?: boolean;
}

/** The parts of a page, each with its own address. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
    return (
        <nav className={styles.tabs} aria-label={label}>
            {tabs.map((tab) => (
                <NavLink key={tab.to} to={tab.to} end={tab.end ?? false}>
                    {tab.label}
                </NavLink>
            ))}
        </nav>
    );
}
