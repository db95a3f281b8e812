/** Return the place in `numbers`, which are in order, of the first that is greater than `line`; their count without. */
export function placeAfter(numbers: readonly number[], line: number): number {
    let low = 0;
    let high = numbers.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((numbers[middle] ?? 0) <= line) low = middle + 1;
        else high = middle;
    }
    return low;
}

/** Return the match after `line`, or the first one again after the last; null where nothing was found. */
export function nextMatch(numbers: readonly number[], line: number): number | null {
    return numbers[placeAfter(numbers, line)] ?? numbers[0] ?? null;
}

/** Return the match before `line`, or the last one before the first; null where nothing was found. */
export function previousMatch(numbers: readonly number[], line: number): number | null {
    return numbers[placeAfter(numbers, line - 1) - 1] ?? numbers.at(-1) ?? null;
}

/** Return a text in turns of what does not match and what does, letter case aside; the first never matches. */
export function partsOf(text: string, words: string): string[] {
    if (words === "") return [text];
    const parts: string[] = [];
    const low = text.toLowerCase();
    const wanted = words.toLowerCase();
    // Where lower case has another length, places would not be those of the text.
    if (low.length !== text.length) return [text];
    let at = 0;
    for (let found = low.indexOf(wanted); found >= 0; found = low.indexOf(wanted, at)) {
        parts.push(text.slice(at, found), text.slice(found, found + wanted.length));
        at = found + wanted.length;
    }
    parts.push(text.slice(at));
    return parts;
}
