import { useMutation } from "@tanstack/react-query";
import type { MouseEvent } from "react";
import { answered, api } from "../../api/client";
import { Button } from "../../components/button";
import { Field, TextArea } from "../../components/field";
import { FormDialog, written, writtenOrNull } from "../../components/form_dialog";
import styles from "./admin.module.css";
import type { Connection } from "./connections";
import { useTeamNames } from "./known_names";

const KEPT = "Left empty: the one that is stored stays";

function bodyOf(form: FormData, connection: Connection | undefined) {
    const port = written(form, "port");
    const [password, extra] = [written(form, "password"), written(form, "extra")];
    return {
        connection_id: connection?.connection_id ?? written(form, "connection_id"),
        conn_type: written(form, "conn_type"),
        description: writtenOrNull(form, "description"),
        host: writtenOrNull(form, "host"),
        port: port === "" ? null : Number(port),
        schema: writtenOrNull(form, "schema"),
        login: writtenOrNull(form, "login"),
        team_name: connection === undefined ? writtenOrNull(form, "team_name") : connection.team_name,
        ...(password === "" ? {} : { password }),
        ...(extra === "" ? {} : { extra }),
    };
}

const PARTS = ["conn_type", "description", "host", "port", "schema", "login", "password", "extra"] as const;

/** Return which parts are to be changed: secrets that were not written again stay as they are. */
function maskOf(body: ReturnType<typeof bodyOf>) {
    return PARTS.filter((name) => name in body);
}

/** Writes a connection, and tries whether it can be reached before that. */
export function ConnectionForm({ connection, onClose }: { connection?: Connection; onClose: () => void }) {
    const teams = useTeamNames();
    const trial = useTrial(connection);
    const save = (form: FormData) => {
        trial.reset();
        const body = bodyOf(form, connection);
        if (connection === undefined) return answered(api.POST("/api/v2/connections", { body }));
        const params = { path: { connection_id: body.connection_id }, query: { update_mask: maskOf(body) } };
        return answered(api.PATCH("/api/v2/connections/{connection_id}", { params, body }));
    };
    const title = connection === undefined ? "Add a connection" : `Connection ${connection.connection_id}`;
    const hint = connection === undefined ? undefined : KEPT;
    const value = (name: "description" | "host" | "schema" | "login") => ({
        name,
        defaultValue: connection?.[name] ?? "",
    });
    return (
        <FormDialog title={title} button="Save connection" act={save} error={trial.error} onClose={onClose}>
            {connection === undefined && (
                <div className={styles.pair}>
                    <Field label="Id" name="connection_id" required maxLength={250} />
                    <Field label="Team" name="team_name" among={teams} hint="Left empty: for all DAGs" />
                </div>
            )}
            <div className={styles.pair}>
                <Field
                    label="Type"
                    name="conn_type"
                    required
                    hint="Such as postgres, http, aws"
                    defaultValue={connection?.conn_type ?? ""}
                />
                <Field label="Schema" {...value("schema")} />
                <Field label="Host" {...value("host")} />
                <Field
                    label="Port"
                    name="port"
                    type="number"
                    min={1}
                    max={65535}
                    defaultValue={connection?.port ?? ""}
                />
                <Field label="Login" {...value("login")} autoComplete="off" />
                <Field label="Password" name="password" type="password" hint={hint} autoComplete="new-password" />
            </div>
            <TextArea label="Extra" name="extra" hint={[hint, "JSON"].filter(Boolean).join(". ")} />
            <Field label="Description" {...value("description")} />
            <Trial trial={trial} />
        </FormDialog>
    );
}

function useTrial(connection: Connection | undefined) {
    return useMutation({
        mutationFn: (form: FormData) =>
            answered(api.POST("/api/v2/connections/test", { body: bodyOf(form, connection) })),
    });
}

function Trial({ trial }: { trial: ReturnType<typeof useTrial> }) {
    const answer = trial.data;
    const test = (event: MouseEvent<HTMLButtonElement>) => {
        if (event.currentTarget.form !== null) trial.mutate(new FormData(event.currentTarget.form));
    };
    return (
        <div className={styles.list}>
            <div>
                <Button onClick={test} disabled={trial.isPending}>
                    {trial.isPending ? "Testing …" : "Test what is written"}
                </Button>
            </div>
            {answer !== undefined && (
                <p role="status" className={answer.status ? undefined : styles.problem}>
                    {answer.status ? "✓ " : "✗ "}
                    {answer.message}
                </p>
            )}
        </div>
    );
}
