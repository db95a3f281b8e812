import { useState } from "react";
import { answered, api, type Got } from "../../api/client";
import { Button } from "../../components/button";
import { Field, TextArea } from "../../components/field";
import { FormDialog, written } from "../../components/form_dialog";
import type { Column } from "../../components/table";
import styles from "./admin.module.css";
import { Listing } from "./listing";
import { TeamMembers } from "./team_members";

export type Team = Got<"/auth/teams">["teams"][number];
type Open = { kind: "add" } | { kind: "edit" | "delete" | "members"; team: Team };

/** Teams: who owns which folders of DAGs, and who belongs to them. */
export function Component() {
    const [open, setOpen] = useState<Open | null>(null);
    const close = () => setOpen(null);
    return (
        <>
            <Listing
                label="Teams"
                cacheKey={["teams"]}
                ask={async () => {
                    const found = await answered(api.GET("/auth/teams"));
                    return { rows: found.teams, total: found.total_entries };
                }}
                columns={columns(setOpen)}
                keyOf={(team) => team.name}
                empty={{
                    title: "No teams",
                    words: "A team owns folders of DAG files; its members have a role for them.",
                }}
                about="Who owns which folders of DAG files, and who belongs to them with which role."
                actions={
                    <Button look="main" onClick={() => setOpen({ kind: "add" })}>
                        Add a team
                    </Button>
                }
            />
            {open?.kind === "add" && <TeamForm onClose={close} />}
            {open?.kind === "edit" && <TeamForm team={open.team} onClose={close} />}
            {open?.kind === "members" && <TeamMembers team={open.team} onClose={close} />}
            {open?.kind === "delete" && <Deletion team={open.team} onClose={close} />}
        </>
    );
}

function columns(open: (one: Open) => void): Column<Team>[] {
    return [
        {
            head: "Team",
            cell: (team) => (
                <div className={styles.name}>
                    <strong>{team.name}</strong>
                    <div className={styles.quiet}>{team.description}</div>
                </div>
            ),
        },
        {
            head: "Folders",
            cell: (team) =>
                team.folders.length === 0 ? (
                    <span className={styles.quiet}>none</span>
                ) : (
                    <pre className={styles.value}>{team.folders.join("\n")}</pre>
                ),
        },
        {
            head: "Members",
            cell: (team) => membersOf(team) || <span className={styles.quiet}>none</span>,
        },
        {
            head: "Actions",
            isHeadHidden: true,
            cell: (team) => (
                <div className={styles.row}>
                    {(["members", "edit", "delete"] as const).map((kind) => (
                        <Button key={kind} look="quiet" onClick={() => open({ kind, team })}>
                            {kind.charAt(0).toUpperCase() + kind.slice(1)}
                        </Button>
                    ))}
                </div>
            ),
        },
    ];
}

function membersOf(team: Team): string {
    return Object.entries(team.members)
        .map(([username, role]) => `${username} (${role})`)
        .join(", ");
}

function TeamForm({ team, onClose }: { team?: Team; onClose: () => void }) {
    const save = (form: FormData) => {
        const body = {
            description: written(form, "description"),
            folders: written(form, "folders")
                .split("\n")
                .map((one) => one.trim())
                .filter(Boolean),
        };
        return team === undefined
            ? answered(api.POST("/auth/teams", { body: { ...body, name: written(form, "name") } }))
            : answered(api.PATCH("/auth/teams/{team_name}", { params: { path: { team_name: team.name } }, body }));
    };
    return (
        <FormDialog
            title={team === undefined ? "Add a team" : `Team ${team.name}`}
            button="Save team"
            act={save}
            onClose={onClose}
        >
            {team === undefined && <Field label="Name" name="name" required maxLength={100} />}
            <Field label="Description" name="description" defaultValue={team?.description ?? ""} />
            <TextArea
                label="Folders"
                name="folders"
                hint="Below the DAGs folder, one a line: sales/daily"
                defaultValue={team?.folders.join("\n") ?? ""}
            />
        </FormDialog>
    );
}

function Deletion({ team, onClose }: { team: Team; onClose: () => void }) {
    const { name, folders } = team;
    return (
        <FormDialog
            title={`Delete team ${name}?`}
            button={`Delete team ${name}`}
            isDanger
            act={() => answered(api.DELETE("/auth/teams/{team_name}", { params: { path: { team_name: name } } }))}
            onClose={onClose}
        >
            <p>Its members lose what they may do with its DAGs, pools, variables and connections.</p>
            <p>
                Members: {membersOf(team) || "none"}. Folders: {folders.join(", ") || "none"}.
            </p>
        </FormDialog>
    );
}
