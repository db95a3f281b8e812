import { useState } from "react";
import { answered, api, type Got } from "../../api/client";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { FormDialog } from "../../components/form_dialog";
import type { Column } from "../../components/table";
import styles from "./admin.module.css";
import { ConnectionForm } from "./connection_form";
import { Listing } from "./listing";
import { SearchOfList, useSearched } from "./search";

export type Connection = Got<"/api/v2/connections">["connections"][number];
type Open = { kind: "add" } | { kind: "edit" | "delete"; connection: Connection };

/** Connections: where other systems are, and with which account; what is secret is written and never shown. */
export function Component() {
    const [open, setOpen] = useState<Open | null>(null);
    const search = useSearched();
    const mayEdit = may(useMe(), "edit connections");
    return (
        <>
            <Listing
                label="Connections"
                cacheKey={["connections", search]}
                ask={async (page) => {
                    const query = { ...page, ...(search === "" ? {} : { connection_id_pattern: `%${search}%` }) };
                    const found = await answered(api.GET("/api/v2/connections", { params: { query } }));
                    return { rows: found.connections, total: found.total_entries };
                }}
                columns={columns(setOpen, mayEdit)}
                keyOf={(one) => `${one.team_name ?? ""} ${one.connection_id}`}
                empty={
                    search === ""
                        ? { title: "No connections", words: "A DAG gets one by its id: Connection.get('id')." }
                        : { title: `No id has ${search} in it`, words: "Search for less of it." }
                }
                about="Where other systems are, and with which account. Passwords and extras are written and never shown."
                actions={
                    <>
                        <SearchOfList label="Search ids" />
                        {mayEdit && (
                            <Button look="main" onClick={() => setOpen({ kind: "add" })}>
                                Add a connection
                            </Button>
                        )}
                    </>
                }
            />
            {open?.kind === "add" && <ConnectionForm onClose={() => setOpen(null)} />}
            {open?.kind === "edit" && <ConnectionForm connection={open.connection} onClose={() => setOpen(null)} />}
            {open?.kind === "delete" && <Deletion connection={open.connection} onClose={() => setOpen(null)} />}
        </>
    );
}

function columns(open: (one: Open) => void, mayEdit: boolean): Column<Connection>[] {
    return [
        {
            head: "Connection",
            cell: (one) => (
                <div className={styles.name}>
                    <strong>{one.connection_id}</strong>
                    <div className={styles.quiet}>{one.description}</div>
                </div>
            ),
        },
        { head: "Type", cell: (one) => one.conn_type },
        {
            head: "Host",
            has: (one) => one.host,
            cell: (one) => [one.host, one.port].filter((part) => part !== null).join(":"),
        },
        { head: "Schema", has: (one) => one.schema, cell: (one) => one.schema },
        { head: "Login", has: (one) => one.login, cell: (one) => one.login },
        { head: "Team", has: (one) => one.team_name, cell: (one) => one.team_name },
        {
            head: "Actions",
            isHeadHidden: true,
            cell: (connection) =>
                mayEdit && (
                    <div className={styles.row}>
                        <Button look="quiet" onClick={() => open({ kind: "edit", connection })}>
                            Edit
                        </Button>
                        <Button look="quiet" onClick={() => open({ kind: "delete", connection })}>
                            Delete
                        </Button>
                    </div>
                ),
        },
    ];
}

function Deletion({ connection, onClose }: { connection: Connection; onClose: () => void }) {
    const id = connection.connection_id;
    const params = { path: { connection_id: id }, query: { team_name: connection.team_name } };
    return (
        <FormDialog
            title={`Delete connection ${id}?`}
            button={`Delete connection ${id}`}
            isDanger
            act={() => answered(api.DELETE("/api/v2/connections/{connection_id}", { params }))}
            onClose={onClose}
        >
            <p>Its password and extras are lost. Tasks that use it fail until it is there again.</p>
        </FormDialog>
    );
}
