import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { answered, api } from "../../../api/client";
import { keys } from "../../../api/keys";
import { hasFailed } from "../../../components/failures";
import { ErrorNote, Skeleton } from "../../../components/notes";
import { useDag } from "../shape";
import toolbar from "../toolbar.module.css";
import { useAddress } from "../use_address";
import { VersionSelect, versionOf } from "../version_select";
import styles from "./code.module.css";
import { Diff } from "./diff_view";
import { Line, REACHABLE } from "./line";
import { linesOf } from "./python";

/** The file of the DAG as a version of it was read, and what changed between two versions. */
export function Component() {
    const { dag_id: dagId, version_number: newest } = useDag();
    const [address, change] = useAddress();
    const version = versionOf(address);
    const compared = versionOf(address, "compare");
    return (
        <div className={toolbar.part}>
            <div className={toolbar.bar}>
                <VersionSelect
                    dagId={dagId}
                    label="Version"
                    value={version}
                    otherwise="the newest"
                    onChange={(value) => change({ version: value })}
                />
                <VersionSelect
                    dagId={dagId}
                    label="Changes since version"
                    value={compared}
                    otherwise="show the whole file"
                    onChange={(value) => change({ compare: value })}
                />
            </div>
            {compared === null ? (
                <Source dagId={dagId} version={version} />
            ) : (
                <Diff dagId={dagId} from={compared} to={version ?? newest ?? compared} />
            )}
        </div>
    );
}

function Source({ dagId, version }: { dagId: string; version: number | null }) {
    const code = useQuery({
        queryKey: [...keys.dag(dagId), "code", version],
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/code", {
                    params: { path: { dag_id: dagId }, query: { version_number: version } },
                }),
            ),
        placeholderData: (before) => before,
    });
    const start = useRef<HTMLTableRowElement>(null);
    const isShown = code.data !== undefined;
    useEffect(() => {
        if (isShown) start.current?.scrollIntoView({ block: "nearest" });
    }, [isShown]);
    if (hasFailed(code)) return <ErrorNote error={code.error} />;
    if (code.data === undefined) return <Skeleton height="30rem" />;
    const { file, source, line } = code.data;
    return (
        <>
            <p className={styles.file}>
                {file}
                {line !== null && `, from line ${line}`}
            </p>
            <section {...REACHABLE} className={styles.frame} aria-label={`Text of ${file}`}>
                <table className={styles.code}>
                    <tbody>
                        {numbered(source).map(({ number, pieces }) => (
                            <tr
                                key={number}
                                ref={number === line ? start : undefined}
                                data-start={number === line || undefined}
                            >
                                <td data-line={number} />
                                <td>
                                    <Line pieces={pieces} />
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </section>
        </>
    );
}

const numbered = (source: string) => linesOf(source).map((pieces, at) => ({ number: at + 1, pieces }));
