import { useState } from "react";
import { answered, api, type Got } from "../../api/client";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { Field, TextArea } from "../../components/field";
import { FormDialog, written, writtenOrNull } from "../../components/form_dialog";
import type { Column } from "../../components/table";
import styles from "./admin.module.css";
import { useTeamNames } from "./known_names";
import { Listing } from "./listing";
import { SearchOfList, useSearched } from "./search";

type Variable = Got<"/api/v2/variables">["variables"][number];
type Open = { kind: "add" } | { kind: "edit" | "delete"; variable: Variable };

/** Variables: values that DAGs read by their key. */
export function Component() {
    const [open, setOpen] = useState<Open | null>(null);
    const search = useSearched();
    const mayEdit = may(useMe(), "edit variables");
    return (
        <>
            <Listing
                label="Variables"
                cacheKey={["variables", search]}
                ask={async (page) => {
                    const query = { ...page, ...(search === "" ? {} : { variable_key_pattern: `%${search}%` }) };
                    const found = await answered(api.GET("/api/v2/variables", { params: { query } }));
                    return { rows: found.variables, total: found.total_entries };
                }}
                columns={columns(setOpen, mayEdit)}
                keyOf={(one) => `${one.team_name ?? ""} ${one.key}`}
                empty={
                    search === ""
                        ? { title: "No variables", words: "A DAG reads one by its key: Variable.get('key')." }
                        : { title: `No key has ${search} in it`, words: "Search for less of it." }
                }
                about="Values that DAGs read by their key. What a key names as a secret is not shown."
                actions={
                    <>
                        <SearchOfList label="Search keys" />
                        {mayEdit && (
                            <Button look="main" onClick={() => setOpen({ kind: "add" })}>
                                Add a variable
                            </Button>
                        )}
                    </>
                }
            />
            {open?.kind === "add" && <VariableForm onClose={() => setOpen(null)} />}
            {open?.kind === "edit" && <VariableForm variable={open.variable} onClose={() => setOpen(null)} />}
            {open?.kind === "delete" && <Deletion variable={open.variable} onClose={() => setOpen(null)} />}
        </>
    );
}

function columns(open: (one: Open) => void, mayEdit: boolean): Column<Variable>[] {
    return [
        {
            head: "Key",
            cell: (one) => (
                <div className={styles.name}>
                    <strong>{one.key}</strong>
                    <div className={styles.quiet}>{one.description}</div>
                </div>
            ),
        },
        { head: "Value", cell: (one) => <pre className={styles.clamped}>{one.value}</pre> },
        { head: "Team", has: (one) => one.team_name, cell: (one) => one.team_name },
        {
            head: "Actions",
            isHeadHidden: true,
            cell: (variable) =>
                mayEdit && (
                    <div className={styles.row}>
                        <Button look="quiet" onClick={() => open({ kind: "edit", variable })}>
                            Edit
                        </Button>
                        <Button look="quiet" onClick={() => open({ kind: "delete", variable })}>
                            Delete
                        </Button>
                    </div>
                ),
        },
    ];
}

function VariableForm({ variable, onClose }: { variable?: Variable; onClose: () => void }) {
    const teams = useTeamNames();
    const save = (form: FormData) => {
        const key = variable?.key ?? written(form, "key");
        const body = {
            key,
            value: String(form.get("value")),
            description: writtenOrNull(form, "description"),
            team_name: variable === undefined ? writtenOrNull(form, "team_name") : variable.team_name,
        };
        return variable === undefined
            ? answered(api.POST("/api/v2/variables", { body }))
            : answered(
                  api.PATCH("/api/v2/variables/{variable_key}", { params: { path: { variable_key: key } }, body }),
              );
    };
    const title = variable === undefined ? "Add a variable" : `Variable ${variable.key}`;
    return (
        <FormDialog title={title} button="Save variable" act={save} onClose={onClose}>
            {variable === undefined && (
                <div className={styles.pair}>
                    <Field label="Key" name="key" required maxLength={250} />
                    <Field label="Team" name="team_name" among={teams} hint="Left empty: for all DAGs" />
                </div>
            )}
            <TextArea label="Value" name="value" defaultValue={variable?.value ?? ""} />
            <Field label="Description" name="description" defaultValue={variable?.description ?? ""} />
        </FormDialog>
    );
}

function Deletion({ variable, onClose }: { variable: Variable; onClose: () => void }) {
    const params = { path: { variable_key: variable.key }, query: { team_name: variable.team_name } };
    return (
        <FormDialog
            title={`Delete variable ${variable.key}?`}
            button={`Delete variable ${variable.key}`}
            isDanger
            act={() => answered(api.DELETE("/api/v2/variables/{variable_key}", { params }))}
            onClose={onClose}
        >
            <p>Tasks that read it fail until it is there again.</p>
        </FormDialog>
    );
}
