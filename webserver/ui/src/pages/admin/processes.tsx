import { answered, api } from "../../api/client";
import { FromNow, Moment } from "../../components/clock";
import { State } from "../../components/state";
import { Listing } from "./listing";

/** The daemons of the installation: those that live and those that have ended. */
export function Component() {
    return (
        <Listing
            label="Processes"
            cacheKey={["processes"]}
            ask={async (query) => {
                const found = await answered(api.GET("/api/v2/jobs", { params: { query } }));
                return { rows: found.jobs, total: found.total_entries };
            }}
            keyOf={(job) => String(job.id)}
            empty={{ title: "No processes", words: "Start a scheduler: treadle scheduler." }}
            columns={[
                { head: "Process", cell: (job) => <strong>{job.job_type}</strong> },
                { head: "State", cell: (job) => <State state={job.state} /> },
                { head: "Executor", cell: (job) => job.executor_class },
                { head: "Machine", cell: (job) => job.hostname },
                { head: "Started", cell: (job) => <Moment at={job.start_date} /> },
                {
                    head: "Last sign of life",
                    cell: (job) => job.latest_heartbeat !== null && <FromNow at={job.latest_heartbeat} />,
                },
            ]}
        />
    );
}
