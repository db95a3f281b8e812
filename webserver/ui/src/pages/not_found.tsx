import { Link, useLocation } from "react-router";

/** An address that no page has. */
export function NotFound() {
    const { pathname } = useLocation();
    return (
        <>
            <h1>No page here</h1>
            <p>
                Nothing is at <code>{pathname}</code>. <Link to="/">Go to the home page</Link>.
            </p>
        </>
    );
}
