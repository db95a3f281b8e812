import { memo } from "react";
import { Link } from "react-router";
import { useZone } from "../../components/clock";
import { runPath } from "../../components/links";
import { colourOf, wordsOf } from "../../components/state";
import { lengthOf, momentIn } from "../../components/times";
import type { Row } from "./model";
import styles from "./timeline.module.css";

interface TrackProps {
    row: Row;
    place: (at: number) => number;
    /** The height of a lane in pixels. */
    lane: number;
}

/** A DAG's runs as bars, and its planned ones as open marks. */
export const Track = memo(function Track({ row, place, lane }: TrackProps) {
    const zone = useZone();
    const moment = (at: number) => momentIn(zone, new Date(at).toISOString());
    return (
        <div className={styles.track}>
            {row.bars.map(({ run, from, to, lane: at }) => {
                const words = `${run.run_id}: ${wordsOf(run.state)}, ${moment(from)}, ${lengthOf((to - from) / 1000)}`;
                return (
                    <Link
                        key={run.run_id}
                        to={runPath(run.dag_id, run.run_id)}
                        title={words}
                        aria-label={words}
                        data-state={run.state}
                        style={{
                            left: `${place(from)}%`,
                            width: `${place(to) - place(from)}%`,
                            top: 8 + at * lane,
                            background: colourOf(run.state),
                        }}
                    />
                );
            })}
            {row.planned.map((at) => (
                <i
                    key={at}
                    role="img"
                    aria-label={`Planned for ${moment(at)}`}
                    title={`Planned for ${moment(at)}`}
                    style={{ left: `${place(at)}%` }}
                />
            ))}
        </div>
    );
});
