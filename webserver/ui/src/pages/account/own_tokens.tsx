import { useState } from "react";
import { answered, api } from "../../api/client";
import { Button } from "../../components/button";
import { FromNow } from "../../components/clock";
import { Dialog } from "../../components/dialog";
import { Check, Field } from "../../components/field";
import { FormDialog, written } from "../../components/form_dialog";
import styles from "../admin/admin.module.css";
import { Confirmed } from "../admin/confirmed";
import { Listing } from "../admin/listing";

interface Made {
    name: string;
    token: string;
}

/** The tokens that one's programs log in with. */
export function OwnTokens() {
    const [isOpen, setOpen] = useState(false);
    const [made, setMade] = useState<Made | null>(null);
    return (
        <>
            <Listing
                label="API tokens"
                title="API tokens"
                about="What your programs log in with, as you. They outlive a change of your password."
                cacheKey={["own tokens"]}
                ask={async () => {
                    const found = await answered(api.GET("/auth/me/tokens"));
                    return { rows: found.tokens, total: found.total_entries };
                }}
                keyOf={(token) => token.id}
                empty={{ title: "No API tokens", words: "A program logs in with one, as you, until it expires." }}
                actions={
                    <Button look="main" onClick={() => setOpen(true)}>
                        Make an API token
                    </Button>
                }
                columns={[
                    { head: "Name", cell: (token) => <strong>{token.name}</strong> },
                    { head: "May", cell: (token) => token.scopes?.join(", ") ?? "all that you may" },
                    { head: "Expires", cell: (token) => <FromNow at={token.expires_at} /> },
                    {
                        head: "Last used",
                        cell: (token) => (token.last_used_at === null ? "never" : <FromNow at={token.last_used_at} />),
                    },
                    {
                        head: "Actions",
                        isHeadHidden: true,
                        cell: (token) => <Revocation id={token.id} name={token.name} />,
                    },
                ]}
            />
            {isOpen && <TokenForm onMade={setMade} onClose={() => setOpen(false)} />}
            {made !== null && <Secret made={made} onClose={() => setMade(null)} />}
        </>
    );
}

function TokenForm({ onMade, onClose }: { onMade: (made: Made) => void; onClose: () => void }) {
    const make = async (form: FormData) => {
        const body = {
            name: written(form, "name"),
            days: Number(written(form, "days")),
            scopes: form.has("reading") ? ["read"] : null,
        };
        onMade(await answered(api.POST("/auth/me/tokens", { body })));
    };
    return (
        <FormDialog title="Make an API token" button="Make token" act={make} onClose={onClose}>
            <Field
                label="Name"
                name="name"
                required
                hint="What it is for, such as the dashboard in the hall"
                maxLength={100}
            />
            <Field
                label="Days"
                name="days"
                type="number"
                min={1}
                max={366}
                required
                defaultValue={90}
                hint="It is void after so many, 366 at most"
            />
            <Check label="For reading only" name="reading" hint="Without it the token may do all that you may" />
        </FormDialog>
    );
}

function Secret({ made, onClose }: { made: Made; onClose: () => void }) {
    const [isCopied, setCopied] = useState(false);
    const copy = async () => {
        await navigator.clipboard.writeText(made.token);
        setCopied(true);
    };
    return (
        <Dialog
            title={`Token ${made.name}`}
            onClose={onClose}
            actions={
                <Button look="main" onClick={copy}>
                    {isCopied ? "Copied" : "Copy"}
                </Button>
            }
        >
            <div className={styles.admin}>
                <p>This is shown once. Keep it where passwords are kept.</p>
                <div className={styles.secret}>{made.token}</div>
            </div>
        </Dialog>
    );
}

function Revocation({ id, name }: { id: string; name: string }) {
    return (
        <Confirmed
            words="Revoke"
            label={`Revoke token ${name}`}
            title={`Revoke token ${name}?`}
            button="Revoke token"
            effect="Programs that log in with it are refused at once. It cannot be made valid again."
            act={() => answered(api.DELETE("/auth/me/tokens/{token_id}", { params: { path: { token_id: id } } }))}
        />
    );
}
