import { Link, useSearchParams } from "react-router";
import styles from "./tabs.module.css";

interface SearchTab {
    name: string;
    label: string;
}

interface SearchTabsProps {
    label: string;
    /** Which name in the address says what is shown; the first tab is where it says nothing. */
    param: string;
    tabs: readonly SearchTab[];
}

/** The parts of a page that differ in the address by one name after the question mark. */
export function SearchTabs({ label, param, tabs }: SearchTabsProps) {
    const [address] = useSearchParams();
    const shown = address.get(param) ?? tabs[0]?.name;
    return (
        <nav className={styles.tabs} aria-label={label}>
            {tabs.map((tab, at) => (
                <Link
                    key={tab.name}
                    to={{ search: at === 0 ? "" : `?${param}=${tab.name}` }}
                    aria-current={tab.name === shown ? "page" : undefined}
                >
                    {tab.label}
                </Link>
            ))}
        </nav>
    );
}
