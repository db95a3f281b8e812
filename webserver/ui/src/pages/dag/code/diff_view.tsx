import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../../api/client";
import { hasFailed } from "../../../components/failures";
import { EmptyNote, ErrorNote, Skeleton } from "../../../components/notes";
import styles from "./code.module.css";
import { type DiffLine, diffLines } from "./diff";
import { Line, REACHABLE } from "./line";
import { linesOf } from "./python";

const SIGNS: Record<DiffLine["kind"], string> = { added: "+", removed: "−", same: "", place: "" };

/** What changed from one version to another. */
export function Diff({ dagId, from, to }: { dagId: string; from: number; to: number }) {
    const diff = useQuery({
        queryKey: ["code-diff", dagId, from, to],
        queryFn: () =>
            answered(
                api.GET("/ui/dags/{dag_id}/code/diff", {
                    params: { path: { dag_id: dagId }, query: { old_version: from, new_version: to } },
                }),
            ),
    });
    if (hasFailed(diff)) return <ErrorNote error={diff.error} />;
    if (diff.data === undefined) return <Skeleton height="30rem" />;
    const lines = diffLines(diff.data.lines);
    if (lines.length === 0) {
        return (
            <EmptyNote title="The text is the same">
                <p>
                    Between version {from} and version {to} not a line of the file has changed.
                </p>
            </EmptyNote>
        );
    }
    return (
        <section {...REACHABLE} className={styles.frame} aria-label={`Changes from version ${from} to version ${to}`}>
            <table className={styles.code}>
                <tbody>
                    {lines.map((line) => (
                        <tr key={`${line.old} ${line.new} ${line.text}`} data-kind={line.kind}>
                            <td data-line={line.old ?? ""} />
                            <td data-line={line.new ?? ""} />
                            <td>
                                <b aria-hidden="true">{SIGNS[line.kind]}</b>
                                {line.kind === "added" && <span className={styles.told}>added </span>}
                                {line.kind === "removed" && <span className={styles.told}>removed </span>}
                                {line.kind === "place" ? line.text : <Line pieces={linesOf(line.text)[0] ?? []} />}
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </section>
    );
}
