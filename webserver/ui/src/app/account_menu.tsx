import { useSyncExternalStore } from "react";
import { Link } from "react-router";
import { logOut, type Me } from "../api/session";
import { Button } from "../components/button";
import { Select } from "../components/field";
import { type Clock, type Theme, usePreferences } from "./preferences";
import styles from "./shell.module.css";

const WIDE = window.matchMedia("(min-width: 901px)");

function onWidth(listener: () => void): () => void {
    WIDE.addEventListener("change", listener);
    return () => WIDE.removeEventListener("change", listener);
}

/** Who is logged in, the way out, and the choices that hold for every page; folded away where there is little room. */
export function AccountMenu({ me }: { me: Me }) {
    const isWide = useSyncExternalStore(onWidth, () => WIDE.matches);
    if (isWide) return <Choices me={me} />;
    return (
        <details className={styles.folded}>
            <summary>{me.username}</summary>
            <Choices me={me} />
        </details>
    );
}

function Choices({ me }: { me: Me }) {
    const { clock, setClock, theme, setTheme } = usePreferences();
    return (
        <div className={styles.account}>
            <Select label="Times in" value={clock} onChange={(event) => setClock(event.target.value as Clock)}>
                <option value="utc">UTC</option>
                <option value="local">This browser's zone</option>
                <option value="dag">The DAG's zone</option>
            </Select>
            <Select label="Colours" value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
                <option value="system">As the system</option>
                <option value="light">Light</option>
                <option value="dark">Dark</option>
            </Select>
            <div className={styles.who}>
                <Link to="/account" title="Password, API tokens, sessions">
                    {me.username} <small>{me.role}</small>
                </Link>
                <Button look="quiet" onClick={() => void logOut()}>
                    Log out
                </Button>
            </div>
        </div>
    );
}
