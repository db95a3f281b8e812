/** A line of a diff as it is shown: with the numbers that it has in the old and the new text. */
export interface DiffLine {
    kind: "same" | "added" | "removed" | "place";
    text: string;
    old: number | null;
    new: number | null;
}

const PLACE = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** Return the lines of a unified diff with their numbers; the two lines that name the files are left out. */
export function diffLines(lines: readonly string[]): DiffLine[] {
    const found: DiffLine[] = [];
    let [old, fresh] = [0, 0];
    let isBegun = false;
    for (const line of lines) {
        const place = PLACE.exec(line);
        if (place !== null) {
            isBegun = true;
            [old, fresh] = [Number(place[1]), Number(place[2])];
            found.push({ kind: "place", text: line, old: null, new: null });
        } else if (isBegun) {
            const text = line.slice(1);
            if (line.startsWith("+")) found.push({ kind: "added", text, old: null, new: fresh++ });
            else if (line.startsWith("-")) found.push({ kind: "removed", text, old: old++, new: null });
            else found.push({ kind: "same", text, old: old++, new: fresh++ });
        }
    }
    return found;
}
