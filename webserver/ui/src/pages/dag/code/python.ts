/** What a piece of a line is: it decides its colour. */
export type Kind = "plain" | "comment" | "text" | "word" | "number" | "decorator";

export interface Piece {
    kind: Kind;
    text: string;
}

const WORDS = new Set(
    (
        "and as assert async await break case class continue def del elif else except finally for from global if import in " +
        "is lambda match nonlocal not or pass raise return try while with yield None True False"
    ).split(" "),
);

const TOKEN =
    /(?<comment>#.*)|(?<text>[rRbBfFuU]{0,2}(?:"""|'''))|(?<line>[rRbBfFuU]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))|(?<decorator>^\s*@[\w.]+)|(?<name>[A-Za-z_]\w*)|(?<number>\b\d[\d_.]*(?:[eE][-+]?\d+)?)/g;

/**
 * Return the lines of a Python source in pieces. It knows as much of Python as colours need, no more: what it cannot
 * tell stays plain. Texts of several lines stay texts until they end.
 */
export function linesOf(source: string): Piece[][] {
    let open: string | null = null;
    return source.split("\n").map((line) => {
        const found = piecesOf(line, open);
        open = found.open;
        return found.pieces;
    });
}

function piecesOf(line: string, open: string | null): { pieces: Piece[]; open: string | null } {
    const pieces: Piece[] = [];
    let at = 0;
    let within = open;
    const add = (kind: Kind, until: number) => {
        if (until > at) pieces.push({ kind, text: line.slice(at, until) });
        at = until;
    };
    while (at < line.length) {
        if (within !== null) {
            const end = line.indexOf(within, at);
            if (end < 0) {
                add("text", line.length);
                break;
            }
            add("text", end + within.length);
            within = null;
            continue;
        }
        TOKEN.lastIndex = at;
        const token = TOKEN.exec(line);
        if (token === null) {
            add("plain", line.length);
            break;
        }
        add("plain", token.index);
        add(kindOf(token), token.index + token[0].length);
        if (token.groups?.text !== undefined) within = token[0].slice(-3);
    }
    return { pieces, open: within };
}

function kindOf({ 0: text, groups = {} }: RegExpExecArray): Kind {
    if (groups.comment !== undefined) return "comment";
    if (groups.text !== undefined || groups.line !== undefined) return "text";
    if (groups.decorator !== undefined) return "decorator";
    if (groups.number !== undefined) return "number";
    return WORDS.has(text) ? "word" : "plain";
}
