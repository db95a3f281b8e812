import { useState } from "react";
import { ApiError, answered, api } from "../../api/client";
import { useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { FormError } from "../../components/faults";
import { Check, Field } from "../../components/field";
import { FormDialog } from "../../components/form_dialog";
import { PageHead } from "../../components/page";
import styles from "../admin/admin.module.css";
import { OwnSessions } from "./own_sessions";
import { OwnTokens } from "./own_tokens";

/** One's own account: password, API tokens, sessions. */
export function Component() {
    const me = useMe();
    const [isOpen, setOpen] = useState(false);
    return (
        <>
            <PageHead title={me.username} actions={<Button onClick={() => setOpen(true)}>Change password</Button>}>
                Your account, with role {me.role}
            </PageHead>
            <div className={styles.admin}>
                <OwnTokens />
                <OwnSessions />
            </div>
            {isOpen && <PasswordForm onClose={() => setOpen(false)} />}
        </>
    );
}

/** The server says of a wrong password what it says to whoever logs in: it does not tell which of two is wrong. */
function atOldPassword(error: unknown): never {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    throw new FormError([{ field: "old_password", words: "This is not your password" }]);
}

function PasswordForm({ onClose }: { onClose: () => void }) {
    const change = (form: FormData) => {
        const revoke_tokens = form.has("revoke_tokens");
        const [old_password, new_password] = [String(form.get("old_password")), String(form.get("new_password"))];
        if (new_password !== String(form.get("again"))) {
            throw new FormError([{ field: "again", words: "The new password is not the same twice" }]);
        }
        const body = { old_password, new_password, revoke_tokens };
        return answered(api.PUT("/auth/me/password", { body })).catch(atOldPassword);
    };
    return (
        <FormDialog
            title="Change password"
            button="Change password"
            act={async (form) => change(form)}
            onClose={onClose}
        >
            <p>All your sessions end, this one too: log in again with the new password.</p>
            <Field
                label="Current password"
                name="old_password"
                type="password"
                required
                autoComplete="current-password"
            />
            <Field label="New password" name="new_password" type="password" required autoComplete="new-password" />
            <Field label="New password again" name="again" type="password" required autoComplete="new-password" />
            <Check
                label="Revoke my API tokens"
                name="revoke_tokens"
                hint="They outlive a change of the password; tick it if somebody else may have got hold of them"
            />
        </FormDialog>
    );
}
