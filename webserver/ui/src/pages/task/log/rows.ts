/** A group of lines: from the line of its title to the line that ends it. */
export interface Group {
    start: number;
    end: number;
}

interface Marker {
    number: number;
    isStart: boolean;
}

/** Return the groups that begin and end; one that has not ended yet cannot be folded, its end being what one watches. */
export function groupsOf(markers: readonly Marker[]): Group[] {
    const open: number[] = [];
    const groups: Group[] = [];
    for (const marker of markers) {
        if (marker.isStart) {
            open.push(marker.number);
            continue;
        }
        const start = open.pop();
        if (start !== undefined) groups.push({ start, end: marker.number });
    }
    return groups.sort((one, other) => one.start - other.start);
}

/** Which line stands in which row, with some groups closed: of these only the title has a row. */
export class Rows {
    readonly count: number;
    private readonly closed: Group[];
    /** How many lines are hidden before the group at the same place of `closed`. */
    private readonly hidden: number[];

    constructor(total: number, closed: readonly Group[]) {
        this.closed = outermost(closed);
        this.hidden = [];
        let hidden = 0;
        for (const group of this.closed) {
            this.hidden.push(hidden);
            hidden += group.end - group.start;
        }
        this.count = Math.max(0, total - hidden);
    }

    /** Return the line that stands in a row. */
    lineOf(row: number): number {
        const at = this.lastWhere((group, hidden) => group.start - hidden < row);
        return row + this.hiddenThrough(at);
    }

    /** Return the row of a line; of a line within a closed group, the row of its title. */
    rowOf(line: number): number {
        const at = this.lastWhere((group) => group.start < line);
        const group = this.closed[at];
        if (group !== undefined && line <= group.end) return group.start - (this.hidden[at] ?? 0);
        return line - this.hiddenThrough(at);
    }

    private hiddenThrough(at: number): number {
        const group = this.closed[at];
        return group === undefined ? 0 : (this.hidden[at] ?? 0) + group.end - group.start;
    }

    /** Return the place of the last closed group for which `holds`; -1 without one. They hold from the first on. */
    private lastWhere(holds: (group: Group, hidden: number) => boolean): number {
        let low = 0;
        let high = this.closed.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            const group = this.closed[middle];
            if (group !== undefined && holds(group, this.hidden[middle] ?? 0)) low = middle + 1;
            else high = middle;
        }
        return low - 1;
    }
}

function outermost(groups: readonly Group[]): Group[] {
    const found: Group[] = [];
    for (const group of groups) {
        const last = found.at(-1);
        if (last === undefined || group.start > last.end) found.push(group);
    }
    return found;
}

/** How many rows are drawn from at once: browsers have a largest height for what can be scrolled. */
export const SEGMENT = 200_000;

/** Return the first row of the segment that shows `row`, with room on both sides of it. */
export function segmentFor(row: number, count: number): number {
    const latest = Math.max(0, count - SEGMENT);
    return Math.min(latest, Math.max(0, row - SEGMENT / 2));
}

/** Return whether a look at the rows from `first` to `last` is so near the edge of its segment that it has to move. */
export function isNearEdge(first: number, last: number, base: number, count: number): boolean {
    const margin = 2000;
    const isAtTop = base > 0 && first < base + margin;
    return isAtTop || (base + SEGMENT < count && last > base + SEGMENT - margin);
}
