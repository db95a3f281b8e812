import { ApiError } from "../api/client";
import { askAgain } from "../api/live";
import { queries } from "../api/queries";
import { Button } from "./button";
import { ErrorNote } from "./notes";

/** What could not be read, in the server's sentence; where asking again may help, a button that does so. */
export function QueryError({ error }: { error: Error }) {
    const isRefusal = error instanceof ApiError && error.status < 500;
    return (
        <ErrorNote error={error}>
            {!isRefusal && <Button onClick={() => void askAgain(queries)}>Try again</Button>}
        </ErrorNote>
    );
}
