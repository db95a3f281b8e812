import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { type LogAddress, LogLines, windowsOf } from "./log_lines";
import { groupsOf, Rows } from "./rows";
import { useLogSearch } from "./search";

const MARKERS = { words: "group::", levels: [] };

/** Return the lines of an attempt's log, opened at its end with each `stage`, and a number that changes with them. */
export function useLogLines(address: LogAddress, stage: string): [LogLines, number] {
    const log = useMemo(() => new LogLines(windowsOf(address)), [address]);
    useEffect(() => {
        if (stage !== "") void log.open();
    }, [log, stage]);
    return [log, useSyncExternalStore(log.subscribe, log.version)];
}

/** The rows of a log with its groups closed but for those that were opened, and how to open or close one. */
export function useFolds(address: LogAddress, total: number, isOver: boolean, areClosed: boolean) {
    // A log that is written is not searched for groups each time that it grows; they close when it has ended.
    const markers = useLogSearch(address, MARKERS, isOver).lines;
    const [toggled, setToggled] = useState<ReadonlySet<number>>(new Set());
    const groups = useMemo(
        () =>
            groupsOf(
                markers
                    .filter((line) => line.group !== null)
                    .map(({ number, group }) => ({ number, isStart: group === "start" })),
            ),
        [markers],
    );
    const closed = useMemo(
        () => groups.filter((group) => toggled.has(group.start) !== areClosed),
        [groups, toggled, areClosed],
    );
    const rows = useMemo(() => new Rows(total, closed), [total, closed]);
    const starts = useMemo(() => new Set(groups.map((group) => group.start)), [groups]);
    const closedStarts = useMemo(() => new Set(closed.map((group) => group.start)), [closed]);
    const toggle = (start: number) =>
        setToggled((before) => {
            const after = new Set(before);
            if (!after.delete(start)) after.add(start);
            return after;
        });
    /** Open what hides a line, so that one can go to it. */
    const reveal = (line: number) => {
        const hiding = closed.filter((group) => line > group.start && line <= group.end);
        for (const group of hiding) toggle(group.start);
    };
    return { rows, starts, closed: closedStarts, toggle, reveal };
}
