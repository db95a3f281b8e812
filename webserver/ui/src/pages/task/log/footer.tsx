import { type RefObject, useState } from "react";
import { BASE } from "../../../api/base";
import { Button } from "../../../components/button";
import { copyLines } from "./copying";
import styles from "./log.module.css";
import type { LogAddress, LogFacts } from "./log_lines";
import type { LogViewHandle } from "./log_view";

interface FooterProps {
    address: LogAddress;
    facts: LogFacts | null;
    chosen: readonly [number, number] | null;
    isAtEnd: boolean;
    view: RefObject<LogViewHandle | null>;
}

/** How long the log is, whether it is followed, and ways to its ends and out of it. */
export function Footer({ address, facts, chosen, isAtEnd, view }: FooterProps) {
    if (facts === null) return null;
    return (
        <div className={styles.footer}>
            <span>
                {facts.total.toLocaleString("en")} {facts.total === 1 ? "line" : "lines"}, {sizeOf(facts.bytes)}
            </span>
            <span role="status">{statusOf(facts, isAtEnd)}</span>
            <span className={styles.ways}>
                {chosen !== null && <CopyButton address={address} first={chosen[0]} last={chosen[1]} />}
                <Button look="quiet" onClick={() => view.current?.goToStart()}>
                    Start
                </Button>
                <Button look="quiet" onClick={() => view.current?.goToEnd()}>
                    {facts.is_over ? "End" : "Follow"}
                </Button>
                <a href={downloadOf(address)} download>
                    Download
                </a>
            </span>
        </div>
    );
}

function CopyButton({ address, first, last }: { address: LogAddress; first: number; last: number }) {
    const [said, setSaid] = useState("");
    const count = last - first + 1;
    const copy = async () => {
        try {
            await copyLines(address, first, last);
            setSaid("Copied");
        } catch (error) {
            setSaid((error as Error).message);
        }
    };
    return (
        <>
            <span role="status">{said}</span>
            <Button look="quiet" onClick={() => void copy()}>
                {count === 1 ? `Copy line ${first + 1}` : `Copy ${count.toLocaleString("en")} lines`}
            </Button>
        </>
    );
}

function statusOf(facts: LogFacts, isAtEnd: boolean): string {
    if (facts.is_over) return "";
    return isAtEnd ? "Following" : "Not following: go to the end to follow";
}

/** Return a number of bytes in words. */
export function sizeOf(bytes: number): string {
    if (bytes < 1000) return `${bytes} B`;
    if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
    if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
    return `${(bytes / 1_000_000_000).toFixed(2)} GB`;
}

function downloadOf({ dagId, runId, taskId, mapIndex, tryNumber }: LogAddress): string {
    const run = `/dags/${encodeURIComponent(dagId)}/dagRuns/${encodeURIComponent(runId)}`;
    const task = `/taskInstances/${encodeURIComponent(taskId)}`;
    return `${BASE}/api/v2${run}${task}/logs/${tryNumber}/download?map_index=${mapIndex}`;
}
