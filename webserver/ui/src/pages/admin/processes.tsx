import { answered, api } from "../../api/client";
import { FromNow, Moment } from "../../components/clock";
import { StateSign } from "../../components/state";
import styles from "./admin.module.css";
import { Listing } from "./listing";

/** What each state of a process is called, and its sign; the API has the words of Airflow's jobs. */
const STATES: Record<string, { words: string; sign: string }> = {
    running: { words: "alive", sign: "success" },
    success: { words: "ended", sign: "removed" },
    failed: { words: "ended without a word", sign: "failed" },
};

/** Return the name that the documentation has for a process: `dag-processor` for DagProcessorJob. */
function kindOf(jobType: string): string {
    return jobType
        .replace(/Job$/, "")
        .replace(/(?<=[a-z])(?=[A-Z])/g, "-")
        .toLowerCase();
}

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
            about="The processes of this installation, the newest first: those that are alive, and those that have ended."
            columns={[
                { head: "Process", cell: (job) => <strong className={styles.state}>{kindOf(job.job_type)}</strong> },
                {
                    head: "State",
                    cell: (job) => <ProcessState state={job.state} />,
                },
                { head: "Executor", has: (job) => job.executor_class, cell: (job) => job.executor_class },
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

function ProcessState({ state }: { state: string }) {
    const { words, sign } = STATES[state] ?? { words: state, sign: "none" };
    return (
        <span className={styles.state}>
            <StateSign state={sign} label={words} /> {words}
        </span>
    );
}
