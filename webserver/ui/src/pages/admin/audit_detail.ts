type Values = Record<string, unknown>;

/** Return in words what an entry of the audit log tells: what it was and became, and all else by its name. */
export function detailOf({ before, after, ...rest }: Values): string {
    const told = Object.entries(rest).map(([name, value]) => `${nameOf(name)}: ${wordsOf(value)}`);
    return [...told, ...changesOf(valuesOf(before), valuesOf(after))].join("; ");
}

function changesOf(before: Values, after: Values): string[] {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => {
        const [was, is] = [before[name], after[name]];
        if (was === undefined) return `${nameOf(name)}: ${wordsOf(is)}`;
        return `${nameOf(name)}: ${wordsOf(was)} → ${wordsOf(is)}`;
    });
}

function valuesOf(one: unknown): Values {
    return typeof one === "object" && one !== null && !Array.isArray(one) ? (one as Values) : {};
}

const nameOf = (name: string): string => name.replaceAll("_", " ");

function wordsOf(value: unknown): string {
    if (value === undefined || value === null || value === "") return "nothing";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (Array.isArray(value)) return value.length === 0 ? "nothing" : value.map(wordsOf).join(", ");
    return typeof value === "object" ? JSON.stringify(value) : String(value);
}
