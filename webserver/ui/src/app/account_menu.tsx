import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import { Link, useLocation } from "react-router";
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

interface MenuProps {
    me: Me;
    /** What else stands beside the choices. */
    children: ReactNode;
}

/** Who is logged in, the way out, and the choices that hold for every page; folded away where there is little room. */
export function AccountMenu({ me, children }: MenuProps) {
    const isWide = useSyncExternalStore(onWidth, () => WIDE.matches);
    const ref = useClosing();
    if (isWide) return <Choices me={me}>{children}</Choices>;
    return (
        <details ref={ref} className={styles.folded}>
            <summary>{me.username}</summary>
            <Choices me={me}>{children}</Choices>
        </details>
    );
}

/** Closes what is folded open: by Escape, by a click beside it, and with the page. */
function useClosing() {
    const ref = useRef<HTMLDetailsElement>(null);
    const { pathname } = useLocation();
    useEffect(() => {
        const close = (event?: Event) => {
            const isInside = event?.target instanceof Node && ref.current?.contains(event.target);
            if (event instanceof KeyboardEvent ? event.key === "Escape" : !isInside)
                ref.current?.removeAttribute("open");
        };
        // Looked at again whenever one goes to another page.
        if (pathname !== "") close();
        document.addEventListener("pointerdown", close);
        document.addEventListener("keydown", close);
        return () => {
            document.removeEventListener("pointerdown", close);
            document.removeEventListener("keydown", close);
        };
    }, [pathname]);
    return ref;
}

function Choices({ me, children }: MenuProps) {
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
            {children}
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
