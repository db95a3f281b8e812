/** A page that one may go to. */
export interface Page {
    to: string;
    label: string;
    /** Whether it is part of another page: found by its name, and not offered where nothing is written. */
    isPart?: boolean;
}

/** One thing that a search has found. */
export interface Found {
    to: string;
    name: string;
    kind: string;
    state?: string;
}

/** Return the pages whose name has these words in it; where there are none, those that are part of no other. */
export function pagesLike(words: string, pages: readonly Page[]): Found[] {
    const wanted = words.toLowerCase();
    return pages
        .filter(({ label, isPart = false }) => (wanted === "" ? !isPart : label.toLowerCase().includes(wanted)))
        .map(({ to, label }) => ({ to, name: label, kind: "page" }));
}

/** Return what was found with the names first that begin with the words; otherwise in the order in which it came. */
export function byName(words: string, found: readonly Found[]): Found[] {
    const wanted = words.toLowerCase();
    const rankOf = (one: Found) => (one.kind === "DAG" && one.name.toLowerCase().startsWith(wanted) ? 0 : 1);
    return [...found].sort((one, other) => rankOf(one) - rankOf(other));
}
