import { Link } from "react-router";
import { counted } from "../../components/counted";
import { Panel } from "../../components/page";
import styles from "./home.module.css";

/** Watchers of assets that fail: until they watch again, what happens outside starts no run. */
export function FailingWatchers({ count }: { count: number }) {
    return (
        <Panel title={`Watchers of assets that fail: ${count}`} className={styles.broken ?? ""}>
            <p className={styles.quiet}>
                {counted(count, "watcher is", "watchers are")} begun anew, later and later; until then nothing from
                outside starts runs. <Link to="/assets?show=waiting">DAGs that wait for assets</Link> tell the error on
                their pages.
            </p>
        </Panel>
    );
}
