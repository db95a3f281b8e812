import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { EmptyNote, ErrorNote } from "../../../components/notes";
import styles from "./log.module.css";
import { LogRow } from "./log_row";
import type { Found } from "./search";
import { LINE_HEIGHT } from "./use_view";

const REACHABLE = { tabIndex: 0 };

interface MatchesListProps {
    found: Found;
    words: string;
    wraps: boolean;
    onGoTo: (line: number) => void;
}

/** The lines of some levels alone; a click on a number shows the line among all others. */
export function MatchesList({ found, words, wraps, onGoTo }: MatchesListProps) {
    const frame = useRef<HTMLElement>(null);
    const list = useVirtualizer({
        count: found.lines.length,
        getScrollElement: () => frame.current,
        estimateSize: () => LINE_HEIGHT,
        overscan: 12,
    });
    const items = list.getVirtualItems();
    const last = items.at(-1)?.index ?? 0;
    useEffect(() => {
        if (last >= found.lines.length - 50) found.more();
    });
    if (found.error !== null) return <ErrorNote error={found.error} />;
    if (found.lines.length === 0 && !found.isSearching) {
        return (
            <EmptyNote title="No such line">
                <p>Show all lines, or search for other words.</p>
            </EmptyNote>
        );
    }
    return (
        <section
            ref={frame}
            className={styles.frame}
            data-wraps={wraps || undefined}
            aria-label="Lines of the log that match"
            {...REACHABLE}
        >
            <div style={{ height: list.getTotalSize() }}>
                <div style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
                    {items.map((item) => {
                        const line = found.lines[item.index];
                        return (
                            <div key={item.key} ref={list.measureElement} data-index={item.index}>
                                <LogRow
                                    number={line?.number ?? 0}
                                    line={line}
                                    words={words}
                                    isChosen={false}
                                    isClosed={undefined}
                                    onFold={onGoTo}
                                    onChoose={onGoTo}
                                />
                            </div>
                        );
                    })}
                </div>
            </div>
        </section>
    );
}
