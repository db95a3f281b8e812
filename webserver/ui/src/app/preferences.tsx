import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";

export type Theme = "system" | "light" | "dark";
/** Whose clock moments are shown by: UTC, this browser's zone, or the zone of the DAG that is looked at. */
export type Clock = "utc" | "local" | "dag";

interface Preferences {
    theme: Theme;
    clock: Clock;
    setTheme: (theme: Theme) => void;
    setClock: (clock: Clock) => void;
}

const Context = createContext<Preferences | null>(null);

/** Keeps the choices of this person in this browser, and tells the style sheet of the theme. */
export function PreferencesProvider({ children }: { children: ReactNode }) {
    const [theme, setTheme] = useKept<Theme>("treadle.theme", "system");
    const [clock, setClock] = useKept<Clock>("treadle.clock", "utc");
    useEffect(() => {
        if (theme === "system") delete document.documentElement.dataset.theme;
        else document.documentElement.dataset.theme = theme;
    }, [theme]);
    const value = useMemo(() => ({ theme, clock, setTheme, setClock }), [theme, clock, setTheme, setClock]);
    return <Context value={value}>{children}</Context>;
}

export function usePreferences(): Preferences {
    const preferences = useContext(Context);
    if (preferences === null) throw new Error("usePreferences needs a PreferencesProvider above it");
    return preferences;
}

function useKept<T extends string>(key: string, otherwise: T): [T, (value: T) => void] {
    const [value, setValue] = useState<T>(() => (localStorage.getItem(key) as T | null) ?? otherwise);
    const keep = useMemo(
        () => (next: T) => {
            localStorage.setItem(key, next);
            setValue(next);
        },
        [key],
    );
    return [value, keep];
}
