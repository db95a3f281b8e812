import type { ReactNode } from "react";
import { Link } from "react-router";
import { colourOf } from "../../components/state";
import styles from "./home.module.css";
import type { Home } from "./shape";

/** How many of each, each the way to their list. */
export function Counters({ home }: { home: Home }) {
    const { runs, tasks, dags } = home;
    return (
        <ul className={styles.counters} aria-label="Counts">
            <Counter count={runs.running} to="/runs?state=running" colour={colourOf("running")}>
                {runs.running === 1 ? "run" : "runs"} running
            </Counter>
            <Counter count={runs.queued} to="/runs?state=queued" colour={colourOf("queued")}>
                {runs.queued === 1 ? "run" : "runs"} queued
            </Counter>
            <Counter count={tasks.running} to="/runs?state=running" colour={colourOf("running")}>
                {tasks.running === 1 ? "task" : "tasks"} running
            </Counter>
            <Counter count={runs.failed} to="/runs?state=failed" colour={colourOf("failed")}>
                failed in 24 h
            </Counter>
            <Counter count={runs.success} to="/runs?state=success" colour={colourOf("success")}>
                succeeded in 24 h
            </Counter>
            <Counter count={dags.unpaused} to="/dags?show=unpaused" colour="var(--accent)">
                DAGs on
            </Counter>
            <Counter count={home.open_human_steps} to="/human-steps" colour={colourOf("deferred")}>
                {home.open_human_steps === 1 ? "question" : "questions"} open
            </Counter>
        </ul>
    );
}

interface CounterProps {
    count: number | undefined;
    to: string;
    colour: string;
    children: ReactNode;
}

function Counter({ count, to, colour, children }: CounterProps) {
    return (
        <li>
            <Link className={styles.counter} to={to} style={{ borderTopColor: colour }}>
                <strong>{(count ?? 0).toLocaleString("en")}</strong>
                <span>{children}</span>
            </Link>
        </li>
    );
}
