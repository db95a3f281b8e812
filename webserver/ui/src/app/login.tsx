import { type FormEvent, useState } from "react";
import { BASE } from "../api/base";
import { logIn } from "../api/session";
import { Brand } from "../components/brand";
import { Button } from "../components/button";
import { Field } from "../components/field";
import { ErrorNote } from "../components/notes";
import styles from "./login.module.css";

/** Whether the server, which writes it into the page, knows an identity provider. */
const HAS_PROVIDER = document.querySelector("base")?.dataset.login === "oidc";

/** Return where the identity provider is asked, and comes back to this very page. */
function providerAddress(): string {
    const page = location.pathname.slice(BASE.length) + location.search;
    return `${BASE}/auth/oidc/login?next=${encodeURIComponent(page)}`;
}

/** Asks who one is; shown in place of every page until somebody is logged in, and then that page is. */
export function Login() {
    const [error, setError] = useState<Error | null>(null);
    const [isWaiting, setWaiting] = useState(false);
    const submit = async (event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        setWaiting(true);
        try {
            await logIn(String(form.get("username")), String(form.get("password")));
        } catch (refusal) {
            setError(refusal as Error);
        } finally {
            setWaiting(false);
        }
    };
    return (
        <main className={styles.login}>
            <form className={styles.form} onSubmit={submit}>
                <h1>
                    <Brand />
                </h1>
                <Field label="Name" name="username" autoComplete="username" required autoFocus />
                <Field label="Password" name="password" type="password" autoComplete="current-password" required />
                {error !== null && <ErrorNote error={error} />}
                <Button type="submit" look="main" disabled={isWaiting}>
                    Log in
                </Button>
                {HAS_PROVIDER && (
                    <a className={styles.provider} href={providerAddress()}>
                        Log in through the identity provider
                    </a>
                )}
            </form>
        </main>
    );
}
