import { useMemo, useRef, useState } from "react";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import { useShortcuts } from "../../../keyboard/shortcuts";
import { useAddress } from "../../dag/use_address";
import { chosenOf, chosenText } from "./chosen";
import { useFollow } from "./follow";
import { Footer } from "./footer";
import styles from "./log.module.css";
import type { LogAddress, LogLines } from "./log_lines";
import { LogView, type LogViewHandle } from "./log_view";
import { nextMatch, previousMatch } from "./matches";
import { MatchesList } from "./matches_list";
import { useLogSearch } from "./search";
import { LEVELS, Toolbar } from "./toolbar";
import { useFolds, useLogLines } from "./use_log";

/**
 * The log of one attempt: opened at its end, followed while one looks at the end, searched on the server. A deferred
 * attempt's log goes on when it is resumed: it is asked for anew with each `stage` of its task.
 */
export function Log({ address, stage }: { address: LogAddress; stage: string }) {
    const [log, version] = useLogLines(address, stage);
    if (log.facts === null) {
        return log.error === null ? <Skeleton height="24rem" /> : <ErrorNote error={log.error} />;
    }
    return <OpenLog address={address} log={log} version={version} />;
}

interface OpenLogProps {
    address: LogAddress;
    log: LogLines;
    version: number;
}

function OpenLog({ address, log, version }: OpenLogProps) {
    const [place, change] = useAddress();
    const view = useRef<LogViewHandle>(null);
    const chosen = chosenOf(place.get("line"));
    const [isAtEnd, setAtEnd] = useState(chosen === null);
    const words = place.get("q") ?? "";
    const level = place.get("level") ?? "";
    const levels = LEVELS[level]?.levels;
    const isOver = log.facts?.is_over ?? true;
    const wanted = useMemo(() => ({ words, levels: levels ?? [] }), [words, levels]);
    const found = useLogSearch(address, wanted, isOver);
    const folds = useFolds(address, log.facts?.total ?? 0, isOver, place.get("groups") !== "open");
    useFollow(address, log, !isOver && isAtEnd && levels === undefined);

    const goTo = (line: number) => {
        folds.reveal(line);
        change({ line: `${line + 1}`, level: null });
        // After the group that hid it has been opened.
        setTimeout(() => view.current?.goToLine(line));
    };
    const step = (isBack: boolean) => {
        const from = chosen?.[0] ?? (isBack ? Number.POSITIVE_INFINITY : -1);
        const line = isBack ? previousMatch(found.numbers, from) : nextMatch(found.numbers, from);
        if (line !== null) goTo(line);
    };
    const wraps = place.get("wrap") === "1";
    useShortcuts("Log", [
        { keys: "n", does: "Next line that is found", act: () => step(false) },
        { keys: "N", does: "Line found before", act: () => step(true) },
        { keys: "Home", does: "First line", act: () => view.current?.goToStart() },
        { keys: "End", does: "Last line; follow what is written", act: () => view.current?.goToEnd() },
        { keys: "w", does: "Wrap long lines, or do not", act: () => change({ wrap: wraps ? null : "1" }) },
        { keys: "e", does: "Errors only, or all lines", act: () => change({ level: level === "" ? "errors" : null }) },
    ]);
    const isClosed = (line: number) => (folds.starts.has(line) ? folds.closed.has(line) : undefined);
    return (
        <div className={styles.log}>
            <Toolbar
                facts={log.facts}
                words={words}
                onWords={(q) => change({ q })}
                level={level}
                onLevel={(one) => change({ level: one })}
                found={found}
                line={chosen?.[0] ?? null}
                onStep={step}
                wraps={wraps}
                onWraps={(on) => change({ wrap: on ? "1" : null })}
            />
            {levels !== undefined && <MatchesList found={found} words={words} wraps={wraps} onGoTo={goTo} />}
            {levels === undefined && log.facts?.total === 0 && (
                <EmptyNote title={isOver ? "No lines" : "No lines yet"}>
                    <p>{log.facts.message}</p>
                </EmptyNote>
            )}
            {levels === undefined && log.facts?.total !== 0 && (
                <LogView
                    ref={view}
                    log={log}
                    version={version}
                    rows={folds.rows}
                    words={words}
                    wraps={wraps}
                    chosen={chosen}
                    firstLine={chosen?.[0] ?? null}
                    isClosed={isClosed}
                    onFold={folds.toggle}
                    onChoose={(number, isRange) => change({ line: chosenText(chosen, number, isRange) })}
                    onAtEnd={setAtEnd}
                />
            )}
            <Footer address={address} facts={log.facts} chosen={chosen} isAtEnd={isAtEnd} view={view} />
        </div>
    );
}
