import { useEffect } from "react";
import { useRouteError } from "react-router";
import { Button } from "../components/button";
import { ErrorNote } from "../components/notes";

const RELOADED = "treadle.reloaded";
const AGAIN_AFTER_MILLISECONDS = 60_000;

/** Browsers say in words of their own that a chunk is not there; after an upgrade old names are gone for good. */
const IS_CHUNK = /dynamically imported module|module script|error loading|preload/i;

/** What is shown in place of a page whose code failed; the rest of the frame goes on. */
export function PageError() {
    const error = useRouteError();
    const shown = error instanceof Error ? error : new Error(String(error));
    const isUpgrade = IS_CHUNK.test(shown.message);
    useEffect(() => {
        if (!isUpgrade) return;
        // Once only: a server that lacks the chunk still is no upgrade.
        const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
        if (Date.now() - last < AGAIN_AFTER_MILLISECONDS) return;
        sessionStorage.setItem(RELOADED, String(Date.now()));
        location.reload();
    }, [isUpgrade]);
    return (
        <ErrorNote error={isUpgrade ? new Error("This page could not be fetched from the server.") : shown}>
            <Button onClick={() => location.reload()}>Load again</Button>
        </ErrorNote>
    );
}
