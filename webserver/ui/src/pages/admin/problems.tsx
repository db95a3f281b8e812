import { Link } from "react-router";
import { answered, api } from "../../api/client";
import { FromNow } from "../../components/clock";
import { dagPath } from "../../components/links";
import styles from "./admin.module.css";
import { Listing } from "./listing";

/** What is wrong with DAG files: those that cannot be imported, and warnings about DAGs. */
export function Component() {
    return (
        <>
            <Listing
                title="Files that cannot be imported"
                about="Their DAGs stay as they were read last."
                label="Files that cannot be imported"
                cacheKey={["errors"]}
                ask={async (query) => {
                    const found = await answered(api.GET("/api/v2/importErrors", { params: { query } }));
                    return { rows: found.import_errors, total: found.total_entries };
                }}
                keyOf={(one) => String(one.import_error_id)}
                empty={{ title: "Every file can be imported", words: "Errors show here as soon as a file is read." }}
                columns={[
                    {
                        head: "File",
                        cell: (one) => (
                            <code>
                                {one.filename}
                                {one.line !== null && `:${one.line}`}
                            </code>
                        ),
                    },
                    { head: "Error", cell: (one) => <pre className={styles.trace}>{one.stack_trace}</pre> },
                    { head: "Found", cell: (one) => one.timestamp !== null && <FromNow at={one.timestamp} /> },
                ]}
            />
            <Listing
                title="Warnings"
                label="Warnings"
                cacheKey={["warnings"]}
                ask={async (query) => {
                    const found = await answered(api.GET("/api/v2/dagWarnings", { params: { query } }));
                    return { rows: found.dag_warnings, total: found.total_entries };
                }}
                keyOf={(one) => `${one.dag_id} ${one.warning_type} ${one.message}`}
                empty={{ title: "No warnings", words: "DAGs that name a pool that is not there are listed here." }}
                columns={[
                    { head: "DAG", cell: (one) => <Link to={dagPath(one.dag_id)}>{one.dag_display_name}</Link> },
                    { head: "Warning", cell: (one) => one.message },
                    { head: "Since", cell: (one) => one.timestamp !== null && <FromNow at={one.timestamp} /> },
                ]}
            />
        </>
    );
}
