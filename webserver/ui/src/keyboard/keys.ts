/** What a key press is called: "g", "?", "ArrowDown", "Ctrl+k"; the command key of a Mac counts as Ctrl. */
export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): string {
    const isCommand = event.ctrlKey || event.metaKey;
    const key = isCommand && event.key.length === 1 ? event.key.toLowerCase() : event.key;
    return `${isCommand ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${key}`;
}

interface Pressed {
    /** The place of the shortcut that the keys are, among those that were given; null: of none, or of none yet. */
    found: number | null;
    /** The keys that may become one with those to come. */
    pending: readonly string[];
}

/**
 * Return what a key is after those before it. Shortcuts are keys parted by blanks, "g d" say. Of two of the same keys the
 * later one counts, since a page says more than the frame around it. Keys that lead nowhere are begun anew with the last.
 */
export function press(pending: readonly string[], key: string, shortcuts: readonly string[]): Pressed {
    const keys = [...pending, key].join(" ");
    const found = shortcuts.lastIndexOf(keys);
    if (found >= 0) return { found, pending: [] };
    if (shortcuts.some((one) => one.startsWith(`${keys} `))) return { found: null, pending: keys.split(" ") };
    return pending.length > 0 ? press([], key, shortcuts) : { found: null, pending: [] };
}

const SHOWN: Record<string, string> = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

/** Return the keys of a shortcut as they stand on a keyboard, one after the other. */
export function shownKeys(keys: string): string[] {
    return keys.split(" ").flatMap((one) => one.split(/(?<=.)\+/).map((part) => SHOWN[part] ?? part));
}
