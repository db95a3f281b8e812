import { useEffect } from "react";
import { useRouteError } from "react-router";
import { BASE } from "../api/base";
import { Button } from "../components/button";
import { ErrorNote } from "../components/notes";

const RELOADED = "treadle.reloaded";
const ASKED_EVERY_MILLISECONDS = 3000;
const AGAIN_AFTER_MILLISECONDS = 60_000;

/** Browsers say in words of their own that a chunk is not there; after an upgrade old names are gone for good. */
const IS_CHUNK = /dynamically imported module|module script|error loading|preload/i;

/**
 * Load the page again once the server answers: without it the browser would show a page of its own instead. A server
 * that is there and lacks the chunk still is asked seldom. Return how to stop.
 */
function reloadOnceThere(): () => void {
    const stopping = new AbortController();
    const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
    let again = setTimeout(ask, Math.max(0, last + AGAIN_AFTER_MILLISECONDS - Date.now()));
    async function ask() {
        const answer = await fetch(`${BASE}/`, { cache: "no-store", signal: stopping.signal }).catch(() => null);
        if (stopping.signal.aborted) return;
        if (answer?.ok !== true) {
            again = setTimeout(ask, ASKED_EVERY_MILLISECONDS);
            return;
        }
        sessionStorage.setItem(RELOADED, String(Date.now()));
        location.reload();
    }
    return () => {
        clearTimeout(again);
        stopping.abort();
    };
}

/** As where no answer came: browsers have errors of several classes for it. */
function notFetched(words: string): Error {
    const cause = new TypeError(words);
    return new Error("This page could not be fetched from the server. It is tried again by itself.", { cause });
}

/** What is shown in place of a page whose code failed; the rest of the frame goes on. */
export function PageError() {
    const error = useRouteError();
    const shown = error instanceof Error ? error : new Error(String(error));
    const isUpgrade = IS_CHUNK.test(shown.message);
    useEffect(() => (isUpgrade ? reloadOnceThere() : undefined), [isUpgrade]);
    return (
        <ErrorNote error={isUpgrade ? notFetched(shown.message) : shown}>
            <Button onClick={() => location.reload()}>Load again</Button>
        </ErrorNote>
    );
}
