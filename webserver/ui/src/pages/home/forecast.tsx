import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { useZone } from "../../components/clock";
import { Skeleton } from "../../components/notes";
import { Panel } from "../../components/page";
import { QueryError } from "../../components/query_error";
import { timeIn } from "../../components/times";
import styles from "./forecast.module.css";
import { byHour } from "./hours";

/** How many runs schedules will make in each of the next 24 hours. */
export function Forecast() {
    const zone = useZone();
    const forecast = useQuery({
        queryKey: [...keys.home, "forecast"],
        queryFn: () => answered(api.GET("/ui/forecast", { params: { query: { hours: 24 } } })),
    });
    if (forecast.isLoadingError) return <QueryError error={forecast.error} />;
    if (forecast.data === undefined) return <Skeleton height="10rem" />;
    const { now, until, known_until, hours, unknown } = forecast.data;
    const bars = byHour(now, hours);
    const most = Math.max(...bars.map((bar) => bar.runs), 1);
    const total = bars.reduce((sum, bar) => sum + bar.runs, 0);
    return (
        <Panel title={`The next 24 hours: ${total} ${total === 1 ? "run" : "runs"}`}>
            {total === 0 && (
                <p className={styles.quiet}>
                    Nothing is planned. <Link to="/dags">DAGs</Link> that have a schedule and are on start runs by
                    themselves.
                </p>
            )}
            <ol className={styles.hours} aria-label="Runs to come by the hour" hidden={total === 0}>
                {bars.map((bar, at) => (
                    <li key={bar.start} title={`from ${timeIn(zone, bar.start)}: ${bar.runs}`}>
                        <span className={styles.frame}>
                            <i style={{ height: `${(100 * bar.runs) / most}%` }} />
                        </span>
                        <small>{at % 4 === 0 ? timeIn(zone, bar.start) : ""}</small>
                        <span className={styles.words}>{`from ${timeIn(zone, bar.start)}: ${bar.runs} runs`}</span>
                    </li>
                ))}
            </ol>
            {known_until < until && (
                <p className={styles.quiet}>
                    Worked out until {timeIn(zone, known_until)}; there is too much after that.
                </p>
            )}
            {unknown.length > 0 && (
                <p className={styles.quiet}>
                    Of {unknown.join(", ")} only the next run is known: their timetables are code.
                </p>
            )}
        </Panel>
    );
}
