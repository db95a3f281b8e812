import { JsonView } from "../../components/json_view";
import { EmptyNote } from "../../components/notes";
import { Panel } from "../../components/page";
import styles from "./task.module.css";

/** The fields of the operator with their templates filled in, as the newest attempt got them. */
export function Rendered({ fields }: { fields: Record<string, unknown> }) {
    const entries = Object.entries(fields);
    if (entries.length === 0) {
        return (
            <EmptyNote title="No rendered fields">
                <p>Fields of operators that may hold templates are shown here once an attempt has begun.</p>
            </EmptyNote>
        );
    }
    return entries.map(([name, value]) => (
        <Panel key={name} title={name}>
            {typeof value === "string" ? <pre className={styles.code}>{value}</pre> : <JsonView value={value} />}
        </Panel>
    ));
}
