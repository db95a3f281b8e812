import { Dialog } from "../components/dialog";
import { shownKeys } from "./keys";
import { heardShortcuts } from "./shortcuts";
import styles from "./shortcuts.module.css";

/** All shortcuts that are heard on the page that is open. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
    return (
        <Dialog title="Keyboard shortcuts" onClose={onClose}>
            <div className={styles.groups}>
                {heardShortcuts().map(([title, shortcuts]) => (
                    <section key={title} aria-label={title}>
                        <h3>{title}</h3>
                        <dl>
                            {shortcuts.map((one) => (
                                <div key={one.keys}>
                                    <dt>
                                        {shownKeys(one.keys).map((key) => (
                                            <kbd key={key}>{key}</kbd>
                                        ))}
                                    </dt>
                                    <dd>{one.does}</dd>
                                </div>
                            ))}
                        </dl>
                    </section>
                ))}
            </div>
        </Dialog>
    );
}
