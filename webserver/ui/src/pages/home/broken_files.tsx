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
                        <span className={styles.message}>{file.message}</span>
                        {file.occurred_at !== null && <FromNow at={file.occurred_at} />}
                    </li>
                ))}
            </ul>
            {more > 0 && <p className={styles.quiet}>and {more} more</p>}
        </Panel>
    );
}
