/** A column, the newest being 0, and a row, where -1 is the head of the run. */
export interface Place {
    column: number;
    row: number;
}

interface Size {
    columns: number;
    rows: number;
}

const STEPS: Record<string, [columns: number, rows: number]> = {
    // The grid reads from right to left.
    ArrowLeft: [1, 0],
    ArrowRight: [-1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
    PageUp: [0, -10],
    PageDown: [0, 10],
    Home: [Number.POSITIVE_INFINITY, 0],
    End: [Number.NEGATIVE_INFINITY, 0],
};

/** Return where a key leads from a place, within the grid; null if the key leads nowhere. */
export function moved(place: Place, key: string, size: Size): Place | null {
    const step = STEPS[key];
    if (step === undefined) return null;
    return {
        column: Math.max(0, Math.min(size.columns - 1, place.column + step[0])),
        row: Math.max(-1, Math.min(size.rows - 1, place.row + step[1])),
    };
}
