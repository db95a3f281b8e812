import { Link, useLocation } from "react-router";
import { EmptyNote } from "../components/notes";
import { PageHead } from "../components/page";

/** An address that no page has. */
export function NotFound() {
    const { pathname } = useLocation();
    return (
        <>
            <PageHead title="No such page" />
            <EmptyNote title={`Nothing is at ${pathname}`}>
                <p>
                    <Link to="/">Go to the home page</Link>, or look for DAGs and runs by name with Ctrl-K.
                </p>
            </EmptyNote>
        </>
    );
}
