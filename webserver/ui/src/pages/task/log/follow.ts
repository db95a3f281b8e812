import { useEffect } from "react";
import { BASE } from "../../../api/base";
import type { Line, LogAddress, LogLines } from "./log_lines";

const GROUP = "::group::";
const GROUP_END = "::endgroup::";

/** A line as the stream has it. */
export interface FollowedLine {
    timestamp?: string;
    level?: string;
    source?: string;
    logger?: string;
    event?: string;
    exc?: string;
    continued?: boolean;
}

/** Return a followed line as the windows of the log have it. */
export function lineOf(number: number, line: FollowedLine): Line {
    const text = String(line.event ?? "");
    const isStart = text.startsWith(GROUP);
    const isEnd = text.startsWith(GROUP_END);
    return {
        number,
        time: line.timestamp ?? null,
        level: line.level ?? null,
        source: line.source ?? null,
        logger: line.logger ?? null,
        text: isEnd ? "" : isStart ? text.slice(GROUP.length) : text,
        exc: line.exc ?? null,
        continued: line.continued === true,
        group: isStart ? "start" : isEnd ? "end" : null,
    };
}

/** Take the lines in that a running attempt writes, as long as `isWanted`: nobody has to be sent what nobody looks at. */
export function useFollow(address: LogAddress, log: LogLines, isWanted: boolean): void {
    const isOpen = log.facts !== null;
    useEffect(() => {
        if (!isWanted || !isOpen) return;
        const stopping = new AbortController();
        void followFromTheEnd(address, log, stopping.signal);
        return () => stopping.abort();
    }, [address, log, isWanted, isOpen]);
}

async function followFromTheEnd(address: LogAddress, log: LogLines, stop: AbortSignal): Promise<void> {
    // What was written while nobody followed may be much; its end is fetched, and the rest when it is looked at.
    await log.open();
    if (stop.aborted || log.facts === null || log.facts.is_over) return;
    const source = new EventSource(streamOf(address, log.facts.total));
    source.addEventListener("lines", (event) => {
        const { first, lines } = JSON.parse(event.data) as { first: number; lines: FollowedLine[] };
        log.append(
            first,
            lines.map((line, at) => lineOf(first + at, line)),
        );
    });
    source.addEventListener("end", () => {
        source.close();
        void log.open();
    });
    stop.addEventListener("abort", () => source.close());
}

function streamOf({ dagId, runId, taskId, mapIndex, tryNumber }: LogAddress, first: number): string {
    const path = `/dags/${encodeURIComponent(dagId)}/dagRuns/${encodeURIComponent(runId)}`;
    const log = `${path}/taskInstances/${encodeURIComponent(taskId)}/logs/${tryNumber}/follow`;
    return `${BASE}/api/v2${log}?first=${first}&map_index=${mapIndex}`;
}
