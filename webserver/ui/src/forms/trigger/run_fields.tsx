import { FormError } from "../../components/faults";
import { Field, TextArea } from "../../components/field";
import styles from "../forms.module.css";
import { fromJson } from "../params";

export interface RunTexts {
    runId: string;
    logicalDate: string;
    note: string;
    conf: string;
}

export const EMPTY: RunTexts = { runId: "", logicalDate: "", note: "", conf: "" };

/** What each is sent as. */
const NAMES = { runId: "dag_run_id", logicalDate: "logical_date", note: "note", conf: "conf" } as const;

/** Return what the server is asked for; throws a `FormError` when the conf is no JSON object. */
export function runBodyOf(texts: RunTexts, params: Record<string, unknown>) {
    return {
        conf: { ...confOf(texts.conf), ...params },
        ...(texts.runId === "" ? {} : { dag_run_id: texts.runId }),
        ...(texts.logicalDate === "" ? {} : { logical_date: `${texts.logicalDate}:00Z` }),
        ...(texts.note === "" ? {} : { note: texts.note }),
    };
}

function confOf(text: string): Record<string, unknown> {
    if (text.trim() === "") return {};
    try {
        const conf = fromJson(text);
        if (typeof conf === "object" && conf !== null && !Array.isArray(conf)) return conf as Record<string, unknown>;
        throw new Error("the conf must be a JSON object");
    } catch (error) {
        throw new FormError([{ field: "conf", words: (error as Error).message }]);
    }
}

interface RunFieldsProps {
    texts: RunTexts;
    onTexts: (texts: RunTexts) => void;
    isOpen: boolean;
}

/** What a run may have beside its params; folded away where there are params. */
export function RunFields({ texts, onTexts, isOpen }: RunFieldsProps) {
    const written = (name: keyof RunTexts) => ({
        name: NAMES[name],
        value: texts[name],
        onChange: (event: { target: { value: string } }) => onTexts({ ...texts, [name]: event.target.value }),
    });
    return (
        <details className={styles.more} open={isOpen}>
            <summary>Run id, logical date, note and conf</summary>
            <div className={styles.form}>
                <div className={styles.pair}>
                    <Field label="Run id" hint="Made up where it is left empty" {...written("runId")} />
                    <Field
                        label="Logical date"
                        type="datetime-local"
                        hint="In UTC; the run has none where it is left empty"
                        {...written("logicalDate")}
                    />
                </div>
                <Field label="Note" maxLength={1000} {...written("note")} />
                <TextArea label="Conf" hint="A JSON object; params above win over it" rows={3} {...written("conf")} />
            </div>
        </details>
    );
}
