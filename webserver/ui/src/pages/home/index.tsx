import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { EmptyNote, Skeleton } from "../../components/notes";
import { PageHead } from "../../components/page";
import { QueryError } from "../../components/query_error";
import { BrokenFiles } from "./broken_files";
import { ComingRuns } from "./coming_runs";
import { Counters } from "./counters";
import { Daemons } from "./daemons";
import { FailedRuns } from "./failed_runs";
import { FailingWatchers } from "./failing_watchers";
import { Forecast } from "./forecast";
import styles from "./home.module.css";
import { Pools } from "./pools";

/** The first page: is everything well, what runs, what failed, what comes. */
export function Component() {
    const home = useQuery({ queryKey: keys.home, queryFn: () => answered(api.GET("/ui/home")) });
    if (home.isLoadingError) return <QueryError error={home.error} />;
    return (
        <>
            <PageHead title="Home" />
            {home.data === undefined ? (
                <Skeleton height="36rem" />
            ) : (
                <div className={styles.home}>
                    <Counters home={home.data} />
                    {home.data.dags.all === 0 && <NoDags />}
                    {home.data.failing_watchers > 0 && <FailingWatchers count={home.data.failing_watchers} />}
                    {home.data.import_error_count > 0 && <BrokenFiles home={home.data} />}
                    <Forecast />
                    <div className={styles.columns}>
                        <FailedRuns runs={home.data.failed_runs} />
                        <ComingRuns runs={home.data.coming_runs} />
                        <Daemons home={home.data} />
                        <Pools pools={home.data.pools} />
                    </div>
                </div>
            )}
        </>
    );
}

function NoDags() {
    return (
        <EmptyNote title="No DAGs yet">
            <p>
                Put a file that defines one into the DAGs folder. <Link to="/dags">DAGs</Link> has the least that will
                do.
            </p>
        </EmptyNote>
    );
}
