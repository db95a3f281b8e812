import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Got } from "../../api/client";
import { keys } from "../../api/keys";
import { Button } from "../../components/button";
import { Check, Field } from "../../components/field";
import { FormDialog, written } from "../../components/form_dialog";
import type { Column } from "../../components/table";
import styles from "./admin.module.css";
import { Listing } from "./listing";

type Role = Got<"/auth/roles">["roles"][number];
type Open = { kind: "add" } | { kind: "edit" | "delete"; role: Role };

/** Roles: which permissions an account has everywhere. */
export function Component() {
    const [open, setOpen] = useState<Open | null>(null);
    return (
        <>
            <Listing
                label="Roles"
                cacheKey={["roles"]}
                ask={async () => {
                    const found = await answered(api.GET("/auth/roles"));
                    return { rows: found.roles, total: found.total_entries };
                }}
                columns={columns(setOpen)}
                keyOf={(role) => role.name}
                empty={{ title: "No roles", words: "Add one." }}
                about="What an account may do everywhere. Its teams and grants add to that."
                actions={
                    <Button look="main" onClick={() => setOpen({ kind: "add" })}>
                        Add a role
                    </Button>
                }
            />
            {open?.kind === "add" && <RoleForm onClose={() => setOpen(null)} />}
            {open?.kind === "edit" && <RoleForm role={open.role} onClose={() => setOpen(null)} />}
            {open?.kind === "delete" && <Deletion name={open.role.name} onClose={() => setOpen(null)} />}
        </>
    );
}

function columns(open: (one: Open) => void): Column<Role>[] {
    return [
        {
            head: "Role",
            cell: (role) => (
                <div className={styles.name}>
                    <strong>{role.name}</strong>
                    <div className={styles.quiet}>{role.is_built_in ? "built in" : role.description}</div>
                </div>
            ),
        },
        { head: "Permissions", cell: (role) => role.permissions.join(", ") || "none but its teams' and grants" },
        {
            head: "Actions",
            isHeadHidden: true,
            cell: (role) =>
                !role.is_built_in && (
                    <div className={styles.row}>
                        <Button look="quiet" onClick={() => open({ kind: "edit", role })}>
                            Edit
                        </Button>
                        <Button look="quiet" onClick={() => open({ kind: "delete", role })}>
                            Delete
                        </Button>
                    </div>
                ),
        },
    ];
}

function RoleForm({ role, onClose }: { role?: Role; onClose: () => void }) {
    const known = useQuery({
        queryKey: [...keys.admin, "permissions"],
        queryFn: () => answered(api.GET("/auth/permissions")),
    });
    const save = (form: FormData) => {
        const path = { role_name: role?.name ?? written(form, "name") };
        const body = { description: written(form, "description"), permissions: form.getAll("permission").map(String) };
        return answered(api.PUT("/auth/roles/{role_name}", { params: { path }, body }));
    };
    if (known.data === undefined) return null;
    return (
        <FormDialog
            title={role === undefined ? "Add a role" : `Role ${role.name}`}
            button="Save role"
            act={save}
            onClose={onClose}
        >
            {role === undefined && <Field label="Name" name="name" required maxLength={100} />}
            <Field label="Description" name="description" defaultValue={role?.description ?? ""} />
            <fieldset className={styles.boxes}>
                <legend>Permissions</legend>
                {known.data.map((one) => (
                    <Check
                        key={one.name}
                        label={one.name}
                        name="permission"
                        value={one.name}
                        defaultChecked={role?.permissions.includes(one.name) ?? false}
                    />
                ))}
            </fieldset>
        </FormDialog>
    );
}

function Deletion({ name, onClose }: { name: string; onClose: () => void }) {
    return (
        <FormDialog
            title={`Delete role ${name}?`}
            button={`Delete role ${name}`}
            isDanger
            act={() => answered(api.DELETE("/auth/roles/{role_name}", { params: { path: { role_name: name } } }))}
            onClose={onClose}
        >
            <p>A role that accounts still have is not deleted.</p>
        </FormDialog>
    );
}
