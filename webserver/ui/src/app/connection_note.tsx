import { useSyncExternalStore } from "react";
import { isConnected, onConnection } from "../api/live";
import styles from "./shell.module.css";

/** Says that what is shown may be old while the server cannot be reached. */
export function ConnectionNote() {
    const isWell = useSyncExternalStore(onConnection, isConnected);
    return (
        <div role="status">
            {!isWell && (
                <p className={styles.lost}>
                    <strong>No connection to the server.</strong> What is shown may be old; it is asked again by itself.
                </p>
            )}
        </div>
    );
}
