import { answered, api, type Got } from "../../../api/client";

type Window = Got<"/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}/logs/{try_number}">;
export type Line = Window["lines"][number];

/** Which attempt's log. */
export interface LogAddress {
    dagId: string;
    runId: string;
    taskId: string;
    mapIndex: number;
    tryNumber: number;
}

/** What is known of a whole log, however little of it is here. */
export type LogFacts = Omit<Window, "first" | "lines">;

type Fetch = (first: number | null, count: number) => Promise<Window>;

export const CHUNK = 500;
/** Lines kept here; those farthest from what is looked at are forgotten first. */
export const KEPT = 20_000;

/** Return the numbers of the chunks that hold the lines from `first` to `last`. */
export function chunksOf(first: number, last: number, total: number): number[] {
    const from = Math.max(0, Math.floor(first / CHUNK));
    const to = Math.floor(Math.min(last, total - 1) / CHUNK);
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
}

/** The lines of one log by number, of which only those are fetched that are looked at. */
export class LogLines {
    facts: LogFacts | null = null;
    error: Error | null = null;
    private readonly lines = new Map<number, Line>();
    private readonly asked = new Set<number>();
    private readonly listeners = new Set<() => void>();
    private readonly fetch: Fetch;
    private changes = 0;

    constructor(fetch: Fetch) {
        this.fetch = fetch;
    }

    readonly subscribe = (listener: () => void): (() => void) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    };

    /** A number that is another one after each change. */
    readonly version = (): number => this.changes;

    lineAt(number: number): Line | undefined {
        return this.lines.get(number);
    }

    /** Fetch the last lines, and what the whole log holds. */
    async open(): Promise<void> {
        await this.ask(null, CHUNK);
    }

    /** Fetch those of the lines from `first` to `last` that are not here. */
    need(first: number, last: number): void {
        if (this.facts === null) return;
        for (const chunk of chunksOf(first, last, this.facts.total)) {
            if (!this.asked.has(chunk) && this.lacks(chunk)) void this.askChunk(chunk);
        }
        this.forget((first + last) / 2);
    }

    /** Take lines in that were written since. */
    append(first: number, lines: readonly Line[]): void {
        if (this.facts === null) return;
        for (const line of lines) this.lines.set(line.number, line);
        this.facts = { ...this.facts, message: null, total: Math.max(this.facts.total, first + lines.length) };
        this.changed();
    }

    private lacks(chunk: number): boolean {
        const end = Math.min((chunk + 1) * CHUNK, this.facts?.total ?? 0);
        for (let number = chunk * CHUNK; number < end; number++) if (!this.lines.has(number)) return true;
        return false;
    }

    private async askChunk(chunk: number): Promise<void> {
        this.asked.add(chunk);
        await this.ask(chunk * CHUNK, CHUNK);
        this.asked.delete(chunk);
    }

    private async ask(first: number | null, count: number): Promise<void> {
        try {
            const { first: _, lines, ...facts } = await this.fetch(first, count);
            for (const line of lines) this.lines.set(line.number, line);
            // A log only grows: an answer that was long under way does not make it shorter again.
            this.facts = { ...facts, total: Math.max(facts.total, this.facts?.total ?? 0) };
            this.error = null;
        } catch (error) {
            this.error = error as Error;
        }
        this.changed();
    }

    private forget(middle: number): void {
        if (this.lines.size <= KEPT) return;
        for (const number of this.lines.keys()) if (Math.abs(number - middle) > KEPT / 4) this.lines.delete(number);
    }

    private changed(): void {
        this.changes += 1;
        for (const listener of this.listeners) listener();
    }
}

/** Return how to fetch windows of one attempt's log. */
export function windowsOf(log: LogAddress): Fetch {
    return (first, count) =>
        answered(
            api.GET("/ui/dags/{dag_id}/runs/{run_id}/tasks/{task_id}/logs/{try_number}", {
                params: {
                    path: { dag_id: log.dagId, run_id: log.runId, task_id: log.taskId, try_number: log.tryNumber },
                    query: { map_index: log.mapIndex, count, ...(first === null ? {} : { first }) },
                },
            }),
        );
}
