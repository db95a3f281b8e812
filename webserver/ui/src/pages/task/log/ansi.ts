/** A stretch of text with one look. Colours are names of the style sheet's; what a terminal has beyond is brought near. */
export interface Stretch {
    text: string;
    colour: string | null;
    ground: string | null;
    isBold: boolean;
    isFaint: boolean;
    isItalic: boolean;
    isUnderlined: boolean;
}

type Look = Omit<Stretch, "text">;

const PLAIN: Look = {
    colour: null,
    ground: null,
    isBold: false,
    isFaint: false,
    isItalic: false,
    isUnderlined: false,
};
const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
const ESCAPE = "\u001b";
// What a terminal would act upon: looks (ending in m), other control sequences, and titles of windows.
const SEQUENCE = new RegExp(
    `${ESCAPE}\\[([0-9;:]*)m|${ESCAPE}\\[[0-?]*[ -/]*[@-~]|${ESCAPE}\\][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)`,
    "g",
);

/** Return a text in stretches of one look; what else a terminal would act upon is left out. */
export function stretchesOf(text: string): Stretch[] {
    if (!text.includes(ESCAPE)) return [{ text, ...PLAIN }];
    const found: Stretch[] = [];
    let look = PLAIN;
    let at = 0;
    for (const match of text.matchAll(SEQUENCE)) {
        if (match.index > at) found.push({ text: text.slice(at, match.index), ...look });
        at = match.index + match[0].length;
        if (match[1] !== undefined) look = changedBy(look, match[1]);
    }
    if (at < text.length) found.push({ text: text.slice(at), ...look });
    return found;
}

/** Return a text without what a terminal would act upon. */
export function plainOf(text: string): string {
    return text.includes(ESCAPE) ? text.replace(SEQUENCE, "") : text;
}

function changedBy(before: Look, parameters: string): Look {
    const codes = parameters.split(/[;:]/).map((code) => Number(code));
    let look = before;
    for (let at = 0; at < codes.length; at++) {
        const code = codes[at] ?? 0;
        if (code === 38 || code === 48) {
            const [colour, used] = extended(codes.slice(at + 1));
            look = code === 38 ? { ...look, colour } : { ...look, ground: colour };
            at += used;
        } else {
            look = { ...look, ...changeOf(code) };
        }
    }
    return look;
}

function changeOf(code: number): Partial<Look> {
    if (code === 0) return PLAIN;
    if (code === 1) return { isBold: true };
    if (code === 2) return { isFaint: true };
    if (code === 3) return { isItalic: true };
    if (code === 4) return { isUnderlined: true };
    if (code === 22) return { isBold: false, isFaint: false };
    if (code === 23) return { isItalic: false };
    if (code === 24) return { isUnderlined: false };
    return colourChange(code);
}

function colourChange(code: number): Partial<Look> {
    if (code === 39) return { colour: null };
    if (code === 49) return { ground: null };
    const name = NAMES[code % 10];
    if (name === undefined) return {};
    const tens = Math.floor(code / 10);
    if (tens === 3 || tens === 9) return { colour: name };
    return tens === 4 || tens === 10 ? { ground: name } : {};
}

/** Return the colour of `5;n` or `2;r;g;b`, and how many codes that took. */
function extended(codes: readonly number[]): [string | null, number] {
    if (codes[0] === 5) return [ofPalette(codes[1] ?? 0), 2];
    if (codes[0] === 2) return [nearest(codes[1] ?? 0, codes[2] ?? 0, codes[3] ?? 0), 4];
    return [null, 0];
}

function ofPalette(number: number): string {
    if (number < 16) return NAMES[number % 8] ?? "white";
    if (number >= 232) return number < 244 ? "black" : "white";
    const cube = number - 16;
    const level = (step: number) => (step === 0 ? 0 : 55 + 40 * step);
    return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

/** Return the name of the colour of which each part is strong where this one's is, by half of its strongest. */
function nearest(red: number, green: number, blue: number): string {
    const strongest = Math.max(red, green, blue);
    if (strongest < 64) return "black";
    const strong = (part: number) => part > strongest * 0.6;
    const at = (strong(red) ? 1 : 0) + (strong(green) ? 2 : 0) + (strong(blue) ? 4 : 0);
    return NAMES[at] ?? "white";
}
