import { createContext, type ReactNode, useContext, useSyncExternalStore } from "react";
import { usePreferences } from "../app/preferences";
import { fromNow, lengthOf, momentIn, secondsBetween } from "./times";

const DagZone = createContext("UTC");

/** Tells what is within the zone of the DAG that is looked at. */
export function DagZoneProvider({ zone, children }: { zone: string; children: ReactNode }) {
    return <DagZone value={zone}>{children}</DagZone>;
}

/** Return the zone that moments are shown in, by this person's choice. */
export function useZone(): string {
    const { clock } = usePreferences();
    const dagZone = useContext(DagZone);
    if (clock === "utc") return "UTC";
    return clock === "dag" ? dagZone : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// One timer for all that counts seconds on a page, however many there are.
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

function subscribe(listener: () => void): () => void {
    // Nothing counted until now, and what is read next would be as old as that.
    if (listeners.size === 0) now = Date.now();
    listeners.add(listener);
    timer ??= setInterval(() => {
        now = Date.now();
        for (const one of listeners) one();
    }, 1000);
    return () => {
        listeners.delete(listener);
        if (listeners.size === 0) {
            clearInterval(timer);
            timer = undefined;
        }
    };
}

/** Return the time, in milliseconds, once a second. */
export function useNow(): number {
    return useSyncExternalStore(subscribe, () => now);
}

/** A moment in the chosen zone; how far it is from now is in its title. */
export function Moment({ at }: { at: string | null | undefined }) {
    const zone = useZone();
    if (at === null || at === undefined) return <span>–</span>;
    return (
        <time dateTime={at} title={`${fromNow(at, Date.now())}, ${momentIn("UTC", at)} UTC`}>
            {momentIn(zone, at)}
        </time>
    );
}

interface FromNowProps {
    at: string;
    /** Whether it has happened: the clocks of server and browser, which differ, never make it lie ahead. */
    isPast?: boolean;
}

/** How far a moment is from now, kept up to date; the moment itself is in its title. */
export function FromNow({ at, isPast = false }: FromNowProps) {
    const zone = useZone();
    const now = useNow();
    return (
        <time dateTime={at} title={`${momentIn(zone, at)} ${zone}`}>
            {fromNow(at, isPast ? Math.max(now, Date.parse(at)) : now)}
        </time>
    );
}

/** How long something took, or has taken until now while it has no end. */
export function Took({ from, to }: { from: string | null; to: string | null }) {
    return from !== null && to === null ? <Counting from={from} /> : lengthOf(secondsBetween(from, to, 0));
}

function Counting({ from }: { from: string }) {
    return lengthOf(secondsBetween(from, null, useNow()));
}
