/**
 * A text as written in a docstring, without the indent that all its lines but the first share, as Python's own
 * `inspect.cleandoc` takes it off: Markdown would take the indented lines for code.
 */
export function withoutIndent(text: string): string {
    const [first = "", ...others] = text.replaceAll("\t", "    ").split("\n");
    const indents = others.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
    const shared = indents.length === 0 ? 0 : Math.min(...indents);
    return [first.trimStart(), ...others.map((line) => line.slice(shared))].join("\n").trim();
}
