import { Link } from "react-router";
import { counted } from "../../components/counted";
import { Panel } from "../../components/page";
import styles from "./home.module.css";

/** Watchers of assets that fail: until they watch again, what happens outside starts no run. */
export function FailingWatchers({ count }: { count: number }) {
    return (
        <Panel title={`Watchers of assets that fail: ${count}`} className={styles.broken ?? ""}>
            <p className={styles.quiet}>
                {counted(count, "watcher is", "watchers are")} begun anew, later and later; meanwhile what happens
                outside starts no run. The page of each DAG that waits for its asset tells the error:{" "}
                <Link to="/assets?show=waiting">who waits for what</Link>
            </p>
        </Panel>
    );
}
