import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { runQuery } from "../chosen_run";
import toolbar from "../toolbar.module.css";
import { changed, useAddress } from "../use_address";
import { untilMinuteOf } from "./past";

interface NotShownProps {
    dagId: string;
    runId: string;
    /** The moment before which all runs are that the grid shows. */
    until: string | undefined;
}

/** Says why the chosen run is not among those of the grid, and leads to where it is. */
export function NotShown({ dagId, runId, until }: NotShownProps) {
    const [address] = useAddress();
    const run = useQuery(runQuery(dagId, runId));
    const after = run.data?.run_after;
    // The line of the chosen run tells of one that does not exist.
    if (after === undefined || after === null) return null;
    const isNewer = until !== undefined && Date.parse(after) >= Date.parse(until);
    return (
        <p className={toolbar.note}>
            The chosen run is {isNewer ? "newer" : "older"} than the runs that the grid shows.{" "}
            <Link to={{ search: changed(address, { until: untilMinuteOf(after) }).toString() }}>
                Show the runs until it
            </Link>
        </p>
    );
}
