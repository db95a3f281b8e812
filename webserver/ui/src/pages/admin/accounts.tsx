import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api, type Got } from "../../api/client";
import { keys } from "../../api/keys";
import { useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { FromNow } from "../../components/clock";
import { counted } from "../../components/counted";
import { Check, Field, Select } from "../../components/field";
import { FormDialog, written, writtenOrNull } from "../../components/form_dialog";
import type { Column } from "../../components/table";
import styles from "./admin.module.css";
import { Listing } from "./listing";

type Account = Got<"/auth/accounts">["accounts"][number];
type Open = { kind: "add" } | { kind: "edit" | "delete"; account: Account };

/** Accounts: who may log in, and with which role. */
export function Component() {
    const [open, setOpen] = useState<Open | null>(null);
    const me = useMe();
    return (
        <>
            <Listing
                label="Accounts"
                cacheKey={["accounts"]}
                ask={async () => {
                    const found = await answered(api.GET("/auth/accounts"));
                    return { rows: found.accounts, total: found.total_entries };
                }}
                columns={columns(setOpen, me.username)}
                keyOf={(one) => one.username}
                empty={{ title: "No accounts", words: "Add one." }}
                about="Who may log in, and with which role."
                actions={
                    <Button look="main" onClick={() => setOpen({ kind: "add" })}>
                        Add an account
                    </Button>
                }
            />
            {open?.kind === "add" && <AccountForm onClose={() => setOpen(null)} />}
            {open?.kind === "edit" && <AccountForm account={open.account} onClose={() => setOpen(null)} />}
            {open?.kind === "delete" && <Deletion username={open.account.username} onClose={() => setOpen(null)} />}
        </>
    );
}

function columns(open: (one: Open) => void, own: string): Column<Account>[] {
    return [
        { head: "Name", cell: (one) => <strong className={styles.name}>{one.username}</strong> },
        { head: "Role", cell: (one) => one.role },
        { head: "Logs in by", cell: (one) => (one.identity ? "identity provider" : "password") },
        {
            head: "May log in",
            cell: (one) => (one.is_active ? "yes" : <span className={styles.barred}>no, deactivated</span>),
        },
        {
            head: "Last login",
            cell: (one) => (one.last_login_at === null ? "never" : <FromNow at={one.last_login_at} />),
        },
        {
            head: "Actions",
            isHeadHidden: true,
            cell: (account) => (
                <div className={styles.row}>
                    <Button look="quiet" onClick={() => open({ kind: "edit", account })}>
                        Edit
                    </Button>
                    {account.username !== own && (
                        <Button look="quiet" onClick={() => open({ kind: "delete", account })}>
                            Delete
                        </Button>
                    )}
                </div>
            ),
        },
    ];
}

function AccountForm({ account, onClose }: { account?: Account; onClose: () => void }) {
    const roles = useQuery({
        queryKey: [...keys.admin, "role names"],
        queryFn: () => answered(api.GET("/auth/roles")),
    });
    const save = (form: FormData) => {
        const password = writtenOrNull(form, "password");
        const role = written(form, "role");
        if (account === undefined) {
            return answered(
                api.POST("/auth/accounts", { body: { username: written(form, "username"), role, password } }),
            );
        }
        const body = {
            role,
            is_active: form.has("is_active"),
            revoke_tokens: form.has("revoke_tokens"),
            ...(password === null ? {} : { password }),
        };
        return answered(api.PATCH("/auth/accounts/{username}", { params: { path: account }, body }));
    };
    if (roles.data === undefined) return null;
    const title = account === undefined ? "Add an account" : `Account ${account.username}`;
    const hint = account === undefined ? "Left empty: only through the identity provider" : "Left empty: it stays";
    return (
        <FormDialog title={title} button="Save account" act={save} onClose={onClose}>
            {account === undefined && <Field label="Name" name="username" required maxLength={250} />}
            <Select label="Role" name="role" defaultValue={account?.role ?? "Viewer"}>
                {roles.data.roles.map((role) => (
                    <option key={role.name} value={role.name}>
                        {role.name}
                    </option>
                ))}
            </Select>
            <Field label="Password" name="password" type="password" hint={hint} autoComplete="new-password" />
            {account !== undefined && (
                <>
                    <Check
                        label="Revoke its API tokens"
                        name="revoke_tokens"
                        hint="They outlive another password; its sessions end with any change"
                    />
                    <Check
                        label="May log in"
                        name="is_active"
                        hint="Without it all sessions end at once, and tokens do nothing"
                        defaultChecked={account.is_active}
                    />
                </>
            )}
        </FormDialog>
    );
}

function Deletion({ username, onClose }: { username: string; onClose: () => void }) {
    const held = useQuery({
        queryKey: [...keys.admin, "held", username],
        queryFn: async () => {
            const params = { query: { username } };
            const [sessions, tokens] = await Promise.all([
                answered(api.GET("/auth/sessions", { params })),
                answered(api.GET("/auth/tokens", { params })),
            ]);
            return [counted(sessions.total_entries, "session"), counted(tokens.total_entries, "API token")].join(
                " and ",
            );
        },
    });
    return (
        <FormDialog
            title={`Delete account ${username}?`}
            button={`Delete account ${username}`}
            isDanger
            act={() => answered(api.DELETE("/auth/accounts/{username}", { params: { path: { username } } }))}
            onClose={onClose}
        >
            <p>
                Its sessions and API tokens end at once{held.data !== undefined && `: ${held.data}`}. It leaves its
                teams, and its grants are deleted. What it did stays in the audit log.
            </p>
        </FormDialog>
    );
}
