import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { BASE } from "./base";
import { keys } from "./keys";

interface ChangedRun {
    dag_id: string;
    run_id: string;
    state: string;
    tasks: boolean;
}

/** What the server's stream tells: runs, DAGs (null: any of them may have changed) and kinds of other things. */
export interface Change {
    runs: ChangedRun[];
    dags: string[] | null;
    kinds: string[];
}

/** Everything has to be looked at again. */
export const RESYNC = "resync";
const LOST = "lost";
const FOUND = "found";
type Message = Change | typeof RESYNC | typeof LOST | typeof FOUND;

/** A connection that comes back within this time was not worth a word. */
const PATIENCE_MILLISECONDS = 4000;
const AGAIN_MILLISECONDS = 5000;

const OF_KIND: Record<string, readonly QueryKey[]> = {
    pool: [keys.pools, [...keys.admin, "pools"], keys.home, keys.timeline],
    import_error: [keys.home, keys.dags],
    human_step: [keys.humanSteps, keys.home],
    process: [keys.home],
    asset: [keys.assets],
    backfill: [keys.dags],
};

/** Return the keys of what a change makes stale; the keys of everything if any DAG may have changed. */
export function staleAfter(change: Change): readonly QueryKey[] {
    if (change.dags === null) return [[]];
    const stale: QueryKey[] = change.kinds.flatMap((kind) => OF_KIND[kind] ?? []);
    if (change.runs.length + change.dags.length > 0) stale.push(keys.home, keys.dags, keys.runs, keys.timeline);
    for (const dagId of change.dags) stale.push(keys.dag(dagId));
    for (const run of change.runs) {
        stale.push(keys.run(run.dag_id, run.run_id), [...keys.dag(run.dag_id), "overview"]);
    }
    return stale;
}

const connectionListeners = new Set<() => void>();
let connected = true;
let losing: ReturnType<typeof setTimeout> | undefined;

/** Return whether the stream is there; for a few seconds it counts as if it were. */
export const isConnected = (): boolean => connected;

/** Call `listener` when the connection is lost or found again; return how to stop. */
export function onConnection(listener: () => void): () => void {
    connectionListeners.add(listener);
    return () => connectionListeners.delete(listener);
}

function setConnected(now: boolean): void {
    connected = now;
    for (const listener of connectionListeners) listener();
}

function hearOfConnection(message: typeof LOST | typeof FOUND): void {
    if (message === LOST) {
        losing ??= setTimeout(() => setConnected(false), PATIENCE_MILLISECONDS);
        return;
    }
    clearTimeout(losing);
    losing = undefined;
    if (!connected) setConnected(true);
}

type RunsListener = (runs: readonly ChangedRun[]) => void;
const runsListeners = new Set<RunsListener>();

/** Call `listener` with the runs that each message names, for pages that fetch just these; return how to stop. */
export function onRunsChanged(listener: RunsListener): () => void {
    runsListeners.add(listener);
    return () => runsListeners.delete(listener);
}

/**
 * Follow the server's stream until the returned function is called.
 *
 * Browsers hold few connections to one server, and a stream takes one for good. So of all tabs one follows the stream,
 * whichever gets the lock, and tells the others; when it is closed another one takes over and asks for what it missed.
 */
export function followLive(queries: QueryClient): () => void {
    const stopping = new AbortController();
    const channel = new BroadcastChannel("treadle-live");
    const refresh = refresher(queries);
    const hear = (message: Message) => {
        if (message === LOST || message === FOUND) {
            hearOfConnection(message);
            if (message === FOUND) void askAgain(queries);
            return;
        }
        refresh(message === RESYNC ? [[]] : staleAfter(message));
        if (message !== RESYNC) for (const listener of runsListeners) listener(message.runs);
    };
    channel.onmessage = (event: MessageEvent<Message>) => hear(event.data);
    const tell = (message: Message) => {
        // A stream that is being closed may still have something to say.
        if (stopping.signal.aborted) return;
        hear(message);
        channel.postMessage(message);
    };
    navigator.locks
        .request("treadle-live", { signal: stopping.signal }, () => stream(stopping.signal, tell))
        .catch((error: unknown) => {
            if (!stopping.signal.aborted) throw error;
        });
    return () => {
        stopping.abort();
        channel.close();
    };
}

/** Ask anew for all that is looked at and could not be read: what is wrong with one part of a page is so with others. */
export function askAgain(queries: QueryClient): Promise<void> {
    return queries.refetchQueries({ type: "active", predicate: (query) => query.state.status === "error" });
}

/**
 * Return a function that makes keys stale. What becomes stale while the answers to the last round are on their way waits
 * for them: to begin anew with each message would, in a busy minute, never show anything.
 */
function refresher(queries: QueryClient): (stale: readonly QueryKey[]) => void {
    const waiting = new Map<string, QueryKey>();
    let isAsking = false;
    const ask = async () => {
        isAsking = true;
        while (waiting.size > 0) {
            const round = [...waiting.values()];
            waiting.clear();
            await Promise.all(round.map((queryKey) => queries.invalidateQueries({ queryKey })));
        }
        isAsking = false;
    };
    return (stale) => {
        for (const key of stale) waiting.set(JSON.stringify(key), key);
        if (!isAsking) void ask();
    };
}

function stream(stop: AbortSignal, tell: (message: Message) => void): Promise<void> {
    return new Promise((resolve) => {
        let source = open();
        let again: ReturnType<typeof setTimeout> | undefined;
        function open(): EventSource {
            const opened = new EventSource(`${BASE}/ui/events`);
            opened.addEventListener("open", () => tell(FOUND));
            opened.addEventListener("change", (event) => tell(JSON.parse(event.data) as Change));
            opened.addEventListener(RESYNC, () => tell(RESYNC));
            opened.addEventListener("error", () => {
                tell(LOST);
                // A browser comes back by itself unless the server refused: the session has ended, which `me` finds out,
                // or a server that is about to start said so.
                if (opened.readyState !== EventSource.CLOSED) return;
                tell(RESYNC);
                again = setTimeout(() => {
                    source = open();
                }, AGAIN_MILLISECONDS);
            });
            return opened;
        }
        stop.addEventListener("abort", () => {
            clearTimeout(again);
            source.close();
            resolve();
        });
    });
}
