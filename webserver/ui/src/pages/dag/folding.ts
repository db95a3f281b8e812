/** From how many rows or nodes on the groups of a DAG are closed until one opens them. */
const MANY = 200;

interface Foldable {
    id: string;
    kind: string;
    parent: string | null;
}

/**
 * Return the groups that are closed. All are where there is much to show, none where there is little; `toggled`, which
 * stands in the address, are those that somebody opened or closed.
 */
export function foldedOf(all: readonly Foldable[], toggled: ReadonlySet<string>): Set<string> {
    const isMuch = all.length > MANY;
    const groups = all.filter((one) => one.kind === "group");
    return new Set(groups.filter((one) => toggled.has(one.id) !== isMuch).map((one) => one.id));
}

/** Return the names in `toggled` with this one added, or taken away where it is among them. */
export function toggledWith(toggled: readonly string[], id: string): string[] {
    return toggled.includes(id) ? toggled.filter((one) => one !== id) : [...toggled, id];
}

/** Return the names to toggle so that all groups are closed, or all open. */
export function toggledAll(all: readonly Foldable[], close: boolean): string[] {
    const isMuch = all.length > MANY;
    return close === isMuch ? [] : all.filter((one) => one.kind === "group").map((one) => one.id);
}
