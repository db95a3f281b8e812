import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { answered, api } from "../api/client";
import { keys } from "../api/keys";
import { Button } from "../components/button";
import { Dialog } from "../components/dialog";
import { dagPath, runPath } from "../components/links";
import { StateSign } from "../components/state";
import { SEARCH_ALL } from "../keyboard/page_shortcuts";
import { useShortcuts } from "../keyboard/shortcuts";
import styles from "./finder.module.css";
import { byName, type Found, type Page, pagesLike } from "./found";

const MOST = 8;

interface FinderProps {
    /** The pages that one may go to. */
    pages: readonly Page[];
}

/** Opens the search over all pages: by its button, by Ctrl-K, or by "/" where the page has no search of its own. */
export function Finder({ pages }: FinderProps) {
    const [isOpen, setOpen] = useState(false);
    useEffect(() => {
        const open = () => setOpen(true);
        document.addEventListener(SEARCH_ALL, open);
        return () => document.removeEventListener(SEARCH_ALL, open);
    }, []);
    useShortcuts("Every page", [{ keys: "Ctrl+k", does: "Search pages, DAGs and runs", act: () => setOpen(true) }]);
    return (
        <>
            <Button className={styles.open} onClick={() => setOpen(true)} title="Press Ctrl-K">
                Search <kbd>Ctrl K</kbd>
            </Button>
            {isOpen && <FinderDialog pages={pages} onClose={() => setOpen(false)} />}
        </>
    );
}

function useFound(text: string, pages: readonly Page[]): Found[] {
    const words = useDeferredValue(text.trim());
    const found = useQuery({
        queryKey: [...keys.dags, "finder", words],
        queryFn: async ({ signal }) => {
            const query = { search: words, limit: MOST };
            const [dags, runs] = await Promise.all([
                answered(api.GET("/ui/dags", { params: { query: { ...query, recent_runs: 0 } }, signal })),
                answered(api.GET("/ui/runs", { params: { query }, signal })),
            ]);
            return byName(words, [
                ...dags.dags.map((dag) => ({ to: dagPath(dag.dag_id), name: dag.name, kind: "DAG" })),
                ...runs.runs.map((run) => ({
                    to: runPath(run.dag_id, run.run_id),
                    name: `${run.dag_name}: ${run.run_id}`,
                    kind: "run",
                    state: run.state,
                })),
            ]);
        },
        enabled: words !== "",
        placeholderData: (before) => before,
    });
    return [...pagesLike(words, pages), ...(words === "" ? [] : (found.data ?? []))];
}

function FinderDialog({ pages, onClose }: FinderProps & { onClose: () => void }) {
    const [text, setText] = useState("");
    const [at, setAt] = useState(0);
    const found = useFound(text, pages);
    const navigate = useNavigate();
    const id = useId();
    const chosen = found[Math.min(at, found.length - 1)];
    const list = useRef<HTMLDivElement>(null);
    useEffect(() => {
        list.current?.children[at]?.scrollIntoView({ block: "nearest" });
    }, [at]);
    const go = (one: Found) => {
        onClose();
        navigate(one.to);
    };
    const press = (event: KeyboardEvent) => {
        if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
        else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
        else if (event.key === "Enter" && chosen !== undefined) go(chosen);
        else return;
        event.preventDefault();
    };
    return (
        <Dialog title="Search pages, DAGs and runs" onClose={onClose}>
            <div className={styles.finder}>
                <input
                    type="search"
                    role="combobox"
                    placeholder="Part of a name"
                    aria-label="Search pages, DAGs and runs"
                    aria-expanded={found.length > 0}
                    aria-controls={id}
                    aria-activedescendant={chosen === undefined ? undefined : `${id}-${found.indexOf(chosen)}`}
                    value={text}
                    onChange={(event) => {
                        setText(event.target.value);
                        setAt(0);
                    }}
                    onKeyDown={press}
                />
                <div ref={list} id={id} role="listbox" aria-label="Found" className={styles.found}>
                    {found.map((one, index) => (
                        <button
                            key={one.to}
                            id={`${id}-${index}`}
                            type="button"
                            role="option"
                            aria-selected={one === chosen}
                            tabIndex={-1}
                            onClick={() => go(one)}
                        >
                            {one.state !== undefined && <StateSign state={one.state} />}
                            <span>{one.name}</span>
                            <small>{one.kind}</small>
                        </button>
                    ))}
                    {text.trim() !== "" && found.length === 0 && <p>No page, DAG or run has a name like that.</p>}
                </div>
            </div>
        </Dialog>
    );
}
