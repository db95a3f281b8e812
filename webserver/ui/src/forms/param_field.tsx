import { Check, Field, Select, TextArea } from "../components/field";
import { ChoicesField } from "./choices_field";
import { kindOf, nameOf, type Param, rangeOf, textOf } from "./params";

interface ParamFieldProps {
    name: string;
    param: Param;
    text: string | undefined;
    /** What is wrong with it while it is written, beside what its form was refused for. */
    problem?: string | undefined;
    onText: (text: string) => void;
}

const INPUTS = { number: "number", date: "date", moment: "datetime-local", time: "time", text: "text" } as const;
const HINTS: Partial<Record<string, string>> = { lines: "One a line", json: "JSON", moment: "UTC" };

/** The control of one param. */
export function ParamField({ name, param, text, problem, onText }: ParamFieldProps) {
    const { schema } = param;
    const kind = kindOf(param);
    const value = text ?? textOf(kind, param.value);
    const hint = [param.description, HINTS[kind], rangeOf(schema)].filter(Boolean).join(". ") || undefined;
    const words = { name: nameOf(name), label: schema.title ?? name, hint, problem };
    if (kind === "choice") {
        return (
            <Select {...words} value={value} onChange={(event) => onText(event.target.value)}>
                {schema.enum?.map((one) => (
                    <option key={JSON.stringify(one)} value={JSON.stringify(one)}>
                        {String(one)}
                    </option>
                ))}
            </Select>
        );
    }
    if (kind === "choices") {
        return <ChoicesField {...words} choices={schema.items?.enum ?? []} value={value} onText={onText} />;
    }
    if (kind === "flag") {
        return (
            <Check {...words} checked={value === "true"} onChange={(event) => onText(String(event.target.checked))} />
        );
    }
    if (kind === "json" || kind === "lines" || kind === "long") {
        return <TextArea {...words} value={value} onChange={(event) => onText(event.target.value)} />;
    }
    return (
        <Field
            {...words}
            type={INPUTS[kind]}
            step={kind === "number" ? "any" : undefined}
            value={value}
            onChange={(event) => onText(event.target.value)}
        />
    );
}
