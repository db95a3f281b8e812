/** Return the lines, counted from 0, that the address names as 12 or 12-40; null where it names none. */
export function chosenOf(text: string | null): readonly [number, number] | null {
    const found = /^(\d{1,12})(?:-(\d{1,12}))?$/.exec(text ?? "");
    if (found === null) return null;
    const first = Number(found[1]) - 1;
    const last = Number(found[2] ?? found[1]) - 1;
    return first < 0 ? null : [Math.min(first, last), Math.max(first, last)];
}

/** Return what the address is to say after a click on a line; with shift, all from the line before to this one. */
export function chosenText(before: readonly [number, number] | null, number: number, isRange: boolean): string | null {
    if (!isRange || before === null) {
        const isSame = before !== null && before[0] === number && before[1] === number;
        return isSame ? null : `${number + 1}`;
    }
    const first = Math.min(before[0], number);
    const last = Math.max(number, number < before[0] ? before[1] : before[0]);
    return first === last ? `${first + 1}` : `${first + 1}-${last + 1}`;
}
