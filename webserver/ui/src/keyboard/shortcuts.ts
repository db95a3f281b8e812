import { useEffect, useRef } from "react";
import { nameOf, press } from "./keys";

/** Keys that do something on a page. */
export interface Shortcut {
    /** "t"; "g d" for one after the other; "Ctrl+k"; the names of `KeyboardEvent.key`, such as "Escape". */
    keys: string;
    /** What they do, for the list of shortcuts: "Go to the DAGs". */
    does: string;
    /** Does it. What returns false had nothing to do, and leaves the key to the browser. */
    act: () => unknown;
}

interface Group {
    title: string;
    shortcuts: () => readonly Shortcut[];
}

const TOGETHER_MILLISECONDS = 1500;
const groups: Group[] = [];
let pending: readonly string[] = [];
let pressedAt = 0;

/**
 * Hear these keys as long as the component is there, and list them under `title` in the window that "?" opens.
 *
 * Keys are not heard while somebody writes (but for those with Ctrl) nor while a dialog is open; nor where something on
 * the page has taken the key for itself.
 */
export function useShortcuts(title: string, shortcuts: readonly Shortcut[]): void {
    const newest = useRef(shortcuts);
    useEffect(() => {
        newest.current = shortcuts;
    });
    useEffect(() => {
        const group = { title, shortcuts: () => newest.current };
        groups.push(group);
        if (groups.length === 1) document.addEventListener("keydown", hear);
        return () => {
            groups.splice(groups.indexOf(group), 1);
            if (groups.length === 0) document.removeEventListener("keydown", hear);
        };
    }, [title]);
}

/** Return all shortcuts that are heard now, by their titles; those of the page come before those of the frame. */
export function heardShortcuts(): [string, Shortcut[]][] {
    const found = new Map<string, Shortcut[]>();
    for (const group of inOrder().reverse()) {
        found.set(group.title, [...(found.get(group.title) ?? []), ...group.shortcuts()]);
    }
    return [...found].filter(([, shortcuts]) => shortcuts.length > 0);
}

/** The titles of what is heard on every page; what others register counts before it, whenever they did. */
export const FRAME = ["Every page", "Go to"];

function inOrder(): Group[] {
    const isOfFrame = (group: Group) => FRAME.includes(group.title);
    return [...groups.filter(isOfFrame), ...groups.filter((group) => !isOfFrame(group))];
}

function hear(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]") !== null) return;
    const name = nameOf(event);
    if (isWriting(event.target) && !name.startsWith("Ctrl+")) return;
    if (event.timeStamp - pressedAt > TOGETHER_MILLISECONDS) pending = [];
    const all = inOrder().flatMap((group) => group.shortcuts());
    const result = press(
        pending,
        name,
        all.map((one) => one.keys),
    );
    pending = result.pending;
    pressedAt = event.timeStamp;
    const shortcut = result.found === null ? undefined : all[result.found];
    if (shortcut !== undefined && shortcut.act() !== false) event.preventDefault();
}

const WRITING = "input:not([type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable=true]";

function isWriting(target: EventTarget | null): boolean {
    return target instanceof Element && target.closest(WRITING) !== null;
}
