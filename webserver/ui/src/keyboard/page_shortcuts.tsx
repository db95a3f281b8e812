import { useState } from "react";
import { useNavigate } from "react-router";
import { Button } from "../components/button";
import { stepRow } from "./row_keys";
import { useShortcuts } from "./shortcuts";
import styles from "./shortcuts.module.css";
import { ShortcutsDialog } from "./shortcuts_dialog";

interface Place {
    to: string;
    label: string;
    /** The key that leads there, after "g". */
    key: string;
}

/** The shortcuts of every page, and the way to the window that lists all there are. */
export function PageShortcuts({ places }: { places: readonly Place[] }) {
    const [isShown, setShown] = useState(false);
    const navigate = useNavigate();
    useShortcuts(
        "Go to",
        places.map(({ to, label, key }) => ({ keys: `g ${key}`, does: label, act: () => navigate(to) })),
    );
    useShortcuts("Every page", [
        { keys: "/", does: "Search on the page; where it has no search, all DAGs and runs", act: focusSearch },
        { keys: "j", does: "Next row of the list; arrow keys go on from there", act: () => stepRow(1) },
        { keys: "k", does: "Row before", act: () => stepRow(-1) },
        { keys: "?", does: "Show the shortcuts", act: () => setShown(true) },
    ]);
    return (
        <>
            <Button look="quiet" className={styles.open} onClick={() => setShown(true)} title="Press ?">
                Keyboard <kbd>?</kbd>
            </Button>
            {isShown && <ShortcutsDialog onClose={() => setShown(false)} />}
        </>
    );
}

/** Give the focus to the search field of the page, with its text chosen; where it has none, open the search over all. */
function focusSearch(): void {
    const field = [...document.querySelectorAll<HTMLInputElement>("main input[type=search]")].find(
        (one) => one.offsetParent !== null,
    );
    if (field === undefined) document.dispatchEvent(new CustomEvent(SEARCH_ALL));
    field?.focus();
    field?.select();
}

/** Told to whoever searches all pages. */
export const SEARCH_ALL = "treadle:search-all";
