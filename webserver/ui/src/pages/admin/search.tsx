import { useCallback } from "react";
import { useSearchParams } from "react-router";
import filters from "../../components/filters.module.css";
import { SearchBox } from "../../components/search_box";

const PARAM = "q";

/** Return what is searched for in a list of the administration; it stands in the address. */
export function useSearched(): string {
    return useSearchParams()[0].get(PARAM) ?? "";
}

/** A line to search such a list by. */
export function SearchOfList({ label }: { label: string }) {
    const [, setAddress] = useSearchParams();
    const text = useSearched();
    const set = useCallback(
        (next: string) => setAddress(next === "" ? {} : { [PARAM]: next }, { replace: true }),
        [setAddress],
    );
    return (
        <div className={filters.filters}>
            <SearchBox label={label} text={text} onText={set} />
        </div>
    );
}
