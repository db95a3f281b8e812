import { plainOf } from "./ansi";
import { type Line, type LogAddress, windowsOf } from "./log_lines";

const AT_ONCE = 5000;

/** Return a line as it is copied: time, level and text, without a terminal's colours. */
export function copiedLine(line: Line): string {
    const text = plainOf(line.exc === null ? line.text : `${line.text}\n${line.exc}`).replace(/\n+$/, "");
    return [line.time, line.level?.toUpperCase(), text].filter((part) => part != null && part !== "").join(" ");
}

/** Return the whole lines that a selection touches; null where it is within one line, which the browser copies itself. */
export function copiedFrom(view: HTMLElement, lineAt: (number: number) => Line | undefined): string | null {
    const selection = window.getSelection();
    if (selection === null) return null;
    const numbers = [...view.querySelectorAll<HTMLElement>("[data-line]")]
        .filter((row) => selection.containsNode(row, true))
        .map((row) => Number(row.dataset.line));
    if (numbers.length < 2) return null;
    const lines = numbers.map(lineAt).filter((line) => line !== undefined);
    return lines.map(copiedLine).join("\n");
}

/** Copy the lines from `first` to `last`, of which few may be here. */
export async function copyLines(log: LogAddress, first: number, last: number): Promise<void> {
    const fetch = windowsOf(log);
    const copied: string[] = [];
    for (let from = first; from <= last; from += AT_ONCE) {
        const { lines } = await fetch(from, Math.min(AT_ONCE, last - from + 1));
        copied.push(...lines.map(copiedLine));
    }
    await navigator.clipboard.writeText(copied.join("\n"));
}
