import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";
import { toggledAll, toggledWith } from "./folding";

type Values = Record<string, string | readonly string[] | null>;

/** The part of the address that says what is shown, and how to change it; null or an empty list takes a name away. */
export function useAddress(): [URLSearchParams, (values: Values, options?: { keep?: boolean }) => void] {
    const [address, setAddress] = useSearchParams();
    const change = useCallback(
        (values: Values, { keep = false }: { keep?: boolean } = {}) =>
            setAddress((before) => changed(before, values), { replace: !keep, preventScrollReset: true }),
        [setAddress],
    );
    return [address, change];
}

/** Return the address with other values. */
export function changed(before: URLSearchParams, values: Values): URLSearchParams {
    const after = new URLSearchParams(before);
    for (const [name, value] of Object.entries(values)) {
        after.delete(name);
        for (const one of typeof value === "string" ? [value] : (value ?? [])) if (one !== "") after.append(name, one);
    }
    return after;
}

interface Foldable {
    id: string;
    kind: string;
    parent: string | null;
}

/** The groups that somebody opened or closed, by the address; and how to open or close one, or all. */
export function useFolding() {
    const [address, change] = useAddress();
    const names = address.getAll("fold").join("\n");
    const toggled = useMemo(() => new Set(names === "" ? [] : names.split("\n")), [names]);
    const fold = useCallback((id: string) => change({ fold: toggledWith([...toggled], id) }), [change, toggled]);
    const foldAll = useCallback(
        (all: readonly Foldable[], close: boolean) => change({ fold: toggledAll(all, close) }),
        [change],
    );
    return { toggled, fold, foldAll };
}
