import { Link } from "react-router";
import { FromNow } from "../../components/clock";
import { Panel } from "../../components/page";
import styles from "./home.module.css";
import type { Home } from "./shape";

/** Files that cannot be imported; their DAGs stay as they were last read. */
export function BrokenFiles({ home }: { home: Home }) {
    const more = home.import_error_count - home.import_errors.length;
    return (
        <Panel title={`Files that cannot be imported: ${home.import_error_count}`} className={styles.broken ?? ""}>
            <ul className={styles.rows}>
                {home.import_errors.map((file) => (
                    <li key={file.id}>
                        <code>
                            {file.file}
                            {file.line !== null && `:${file.line}`}
                        </code>
                        <span className={styles.message} title={file.message}>
                            {file.message.replace(`${file.file}, line ${file.line}: `, "")}
                        </span>
                        {file.occurred_at !== null && <FromNow at={file.occurred_at} />}
                    </li>
                ))}
            </ul>
            <p className={styles.quiet}>
                {more > 0 && `and ${more} more. `}Their DAGs stay as they were read last.{" "}
                <Link to="/admin/problems">Show the tracebacks</Link>
            </p>
        </Panel>
    );
}
