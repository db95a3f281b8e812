import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { answered, api, type Got } from "../../api/client";
import { keys } from "../../api/keys";
import { Button } from "../../components/button";
import { Check, Field } from "../../components/field";
import { FormDialog, written, writtenOrNull } from "../../components/form_dialog";
import { dagPath } from "../../components/links";
import type { Column } from "../../components/table";
import styles from "./admin.module.css";
import { useAccountNames, useTeamNames } from "./known_names";
import { Listing } from "./listing";

type Grant = Got<"/auth/grants">["grants"][number];
type Open = { kind: "add" } | { kind: "edit" | "delete"; grant: Grant };

/** Grants: what one account or team may do with one DAG, beside its role. */
export function Component() {
    const [open, setOpen] = useState<Open | null>(null);
    const close = () => setOpen(null);
    return (
        <>
            <Listing
                label="Grants"
                cacheKey={["grants"]}
                ask={async () => {
                    const found = await answered(api.GET("/auth/grants"));
                    return { rows: found.grants, total: found.total_entries };
                }}
                columns={columns(setOpen)}
                keyOf={(one) => `${one.dag_id} ${one.username ?? ""} ${one.team ?? ""}`}
                empty={{
                    title: "No grants",
                    words: "Roles and teams say who may do what; a grant adds one DAG to that.",
                }}
                about="What one account or team may do with one DAG, beside its role."
                actions={
                    <Button look="main" onClick={() => setOpen({ kind: "add" })}>
                        Add a grant
                    </Button>
                }
            />
            {open?.kind === "add" && <GrantForm onClose={close} />}
            {open?.kind === "edit" && <GrantForm grant={open.grant} onClose={close} />}
            {open?.kind === "delete" && <Deletion grant={open.grant} onClose={close} />}
        </>
    );
}

const holderOf = (grant: Grant) => (grant.team === null ? (grant.username ?? "") : `team ${grant.team}`);

function columns(open: (one: Open) => void): Column<Grant>[] {
    return [
        { head: "DAG", cell: (grant) => <Link to={dagPath(grant.dag_id)}>{grant.dag_id}</Link> },
        { head: "Who", cell: (grant) => holderOf(grant) },
        { head: "May", cell: (grant) => grant.permissions.join(", ") },
        {
            head: "Actions",
            isHeadHidden: true,
            cell: (grant) => (
                <div className={styles.row}>
                    <Button look="quiet" onClick={() => open({ kind: "edit", grant })}>
                        Edit
                    </Button>
                    <Button look="quiet" onClick={() => open({ kind: "delete", grant })}>
                        Delete
                    </Button>
                </div>
            ),
        },
    ];
}

function GrantForm({ grant, onClose }: { grant?: Grant; onClose: () => void }) {
    const [accounts, teams] = [useAccountNames(), useTeamNames()];
    const known = useQuery({
        queryKey: [...keys.admin, "permissions"],
        queryFn: () => answered(api.GET("/auth/permissions")),
    });
    const save = (form: FormData) => {
        const who = grant ?? {
            dag_id: written(form, "dag_id"),
            username: writtenOrNull(form, "username"),
            team: writtenOrNull(form, "team_name"),
        };
        const { dag_id, username, team } = who;
        const permissions = form.getAll("permission").map(String);
        return answered(api.PUT("/auth/grants", { body: { dag_id, username, team, permissions } }));
    };
    if (known.data === undefined) return null;
    const title = grant === undefined ? "Add a grant" : `${holderOf(grant)} and ${grant.dag_id}`;
    return (
        <FormDialog title={title} button="Save grant" act={save} onClose={onClose}>
            {grant === undefined && (
                <>
                    <Field label="DAG id" name="dag_id" required />
                    <div className={styles.pair}>
                        <Field
                            label="Account"
                            name="username"
                            among={accounts}
                            hint="An account or a team, one of the two"
                        />
                        <Field label="Team" name="team_name" among={teams} />
                    </div>
                </>
            )}
            <fieldset className={styles.boxes}>
                <legend>Permissions</legend>
                {known.data
                    .filter((one) => one.of === "dag")
                    .map((one) => (
                        <Check
                            key={one.name}
                            label={one.name}
                            name="permission"
                            value={one.name}
                            defaultChecked={grant?.permissions.includes(one.name) ?? false}
                        />
                    ))}
            </fieldset>
        </FormDialog>
    );
}

function Deletion({ grant, onClose }: { grant: Grant; onClose: () => void }) {
    const { dag_id, username, team } = grant;
    return (
        <FormDialog
            title={`Delete the grant of ${holderOf(grant)} for ${dag_id}?`}
            button="Delete grant"
            isDanger
            act={() => answered(api.PUT("/auth/grants", { body: { dag_id, username, team, permissions: [] } }))}
            onClose={onClose}
        >
            <p>What a role or a team allows stays allowed.</p>
        </FormDialog>
    );
}
