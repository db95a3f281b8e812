import { type ClipboardEvent, type Ref, useImperativeHandle } from "react";
import { copiedFrom } from "./copying";
import styles from "./log.module.css";
import type { LogLines } from "./log_lines";
import { LogRow } from "./log_row";
import type { Rows } from "./rows";
import { useView } from "./use_view";

// What scrolls has to be reached by the keyboard.
const REACHABLE = { tabIndex: 0 };

/** How others move the view. */
export interface LogViewHandle {
    goToLine: (line: number) => void;
    goToEnd: () => void;
    goToStart: () => void;
}

interface LogViewProps {
    log: LogLines;
    /** Changes when lines have come. */
    version: number;
    rows: Rows;
    words: string;
    wraps: boolean;
    /** The first and the last line that are chosen. */
    chosen: readonly [number, number] | null;
    /** The line to begin at; null: the end. */
    firstLine: number | null;
    /** Whether the group that a line begins is closed; undefined where it begins none. */
    isClosed: (line: number) => boolean | undefined;
    onFold: (start: number) => void;
    onChoose: (number: number, isRange: boolean) => void;
    onAtEnd: (isAtEnd: boolean) => void;
    ref: Ref<LogViewHandle>;
}

/** A window on a log of any length: only the rows that are seen are drawn, and only their lines fetched. */
export function LogView(props: LogViewProps) {
    const { log, version, rows, wraps, chosen } = props;
    const mark = `${rows.count}/${version}/${wraps}`;
    const view = useView({ log, rows, firstLine: props.firstLine, mark, onAtEnd: props.onAtEnd });
    useImperativeHandle(props.ref, () => ({
        goToLine: (line) => {
            view.tellEnd(false);
            view.goTo(rows.rowOf(line), "center");
        },
        goToEnd: () => {
            view.tellEnd(true);
            view.goTo(rows.count - 1, "end");
        },
        goToStart: () => {
            view.tellEnd(false);
            view.goTo(0, "start");
        },
    }));
    const copy = (event: ClipboardEvent<HTMLElement>) => {
        const text = copiedFrom(event.currentTarget, (number) => log.lineAt(number));
        if (text === null) return;
        event.preventDefault();
        event.clipboardData.setData("text/plain", text);
    };
    const items = view.list.getVirtualItems();
    return (
        <section
            ref={view.frame}
            className={styles.frame}
            data-wraps={wraps || undefined}
            onScroll={view.onScroll}
            onCopy={copy}
            aria-label="Lines of the log"
            {...REACHABLE}
        >
            <div style={{ height: view.list.getTotalSize() }}>
                <div style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
                    {items.map((item) => {
                        const number = rows.lineOf(view.base + item.index);
                        return (
                            <div key={item.key} ref={view.list.measureElement} data-index={item.index}>
                                <LogRow
                                    number={number}
                                    line={log.lineAt(number)}
                                    words={props.words}
                                    isChosen={chosen !== null && number >= chosen[0] && number <= chosen[1]}
                                    isClosed={props.isClosed(number)}
                                    onFold={props.onFold}
                                    onChoose={props.onChoose}
                                />
                            </div>
                        );
                    })}
                </div>
            </div>
        </section>
    );
}
