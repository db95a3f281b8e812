import { type MouseEvent, memo } from "react";
import { useZone } from "../../../components/clock";
import { stretchesOf } from "./ansi";
import styles from "./log.module.css";
import type { Line } from "./log_lines";
import { partsOf } from "./matches";
import { preciseTimeIn } from "./moments";

interface RowProps {
    number: number;
    line: Line | undefined;
    words: string;
    isChosen: boolean;
    /** Whether the group that this line begins is closed; undefined where it begins none that can be. */
    isClosed: boolean | undefined;
    onFold: (start: number) => void;
    onChoose: (number: number, isRange: boolean) => void;
}

/** One line of a log: its number, time, level and text. */
export const LogRow = memo(function LogRow({ number, line, words, isChosen, isClosed, onFold, onChoose }: RowProps) {
    const zone = useZone();
    const choose = (event: MouseEvent) => onChoose(number, event.shiftKey);
    const level = line?.level ?? "";
    return (
        <div className={styles.row} data-line={number} data-level={level} data-chosen={isChosen || undefined}>
            <button
                type="button"
                className={styles.number}
                onClick={choose}
                tabIndex={-1}
                aria-label={`Line ${number + 1}`}
            >
                {number + 1}
            </button>
            {line === undefined ? (
                <span className={styles.missing}>…</span>
            ) : (
                <>
                    <time className={styles.time} title={line.time ?? undefined}>
                        {line.time === null ? "" : preciseTimeIn(zone, line.time)}
                    </time>
                    <span className={styles.level}>{level}</span>
                    <span className={styles.text} title={line.logger ?? undefined}>
                        {isClosed !== undefined && (
                            <button
                                type="button"
                                className={styles.fold}
                                aria-expanded={!isClosed}
                                onClick={() => onFold(number)}
                            >
                                {isClosed ? "▸" : "▾"} {line.text}
                            </button>
                        )}
                        {isClosed === undefined && <Text text={textOf(line)} words={words} />}
                    </span>
                </>
            )}
        </div>
    );
});

/** Return the text of a line as it is shown, its traceback below it. */
export function textOf(line: Line): string {
    if (line.group === "start") return `▾ ${line.text}`;
    const text = line.text.replace(/\n+$/, "");
    return line.exc === null ? text : `${text}\n${line.exc.replace(/\n+$/, "")}`;
}

function Text({ text, words }: { text: string; words: string }) {
    let at = 0;
    return stretchesOf(text).map((stretch) => {
        const key = at;
        at += stretch.text.length;
        return (
            <span
                key={key}
                data-colour={stretch.colour ?? undefined}
                data-ground={stretch.ground ?? undefined}
                data-bold={stretch.isBold || undefined}
                data-faint={stretch.isFaint || undefined}
                data-italic={stretch.isItalic || undefined}
                data-underlined={stretch.isUnderlined || undefined}
            >
                <Marked text={stretch.text} words={words} />
            </span>
        );
    });
}

function Marked({ text, words }: { text: string; words: string }) {
    const parts = partsOf(text, words);
    if (parts.length === 1) return text;
    let at = 0;
    return parts.map((part, place) => {
        const key = at;
        at += part.length + 1;
        return place % 2 === 1 ? <mark key={key}>{part}</mark> : part;
    });
}
