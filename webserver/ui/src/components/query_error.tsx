import { ApiError } from "../api/client";
import { queries } from "../api/queries";
import { Button } from "./button";
import { ErrorNote } from "./notes";

/** What could not be read, in the server's sentence; where asking again may help, a button that does so. */
export function QueryError({ error }: { error: Error }) {
    const isRefusal = error instanceof ApiError && error.status < 500;
    return (
        <ErrorNote error={error}>{!isRefusal && <Button onClick={() => void askAgain()}>Try again</Button>}</ErrorNote>
    );
}

/** Ask anew for all that could not be read: what is wrong with one part of a page is so with the others. */
function askAgain(): Promise<void> {
    return queries.refetchQueries({ predicate: (query) => query.state.status === "error" });
}
