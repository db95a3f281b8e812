import { useState } from "react";
import { answered, api, type Got } from "../../api/client";
import { may, useMe } from "../../api/rights";
import { Button } from "../../components/button";
import { Check, Field } from "../../components/field";
import { FormDialog, written, writtenOrNull } from "../../components/form_dialog";
import type { Column } from "../../components/table";
import styles from "./admin.module.css";
import { Listing } from "./listing";
import { PoolHolders } from "./pool_holders";

type Pool = Got<"/api/v2/pools">["pools"][number];
type Open = { kind: "add" } | { kind: "edit" | "delete" | "holders"; pool: Pool };

/** Pools, and what holds their slots. */
export function Component() {
    const [open, setOpen] = useState<Open | null>(null);
    const mayEdit = may(useMe(), "edit pools");
    return (
        <>
            <Listing
                label="Pools"
                cacheKey={["pools"]}
                ask={async (query) => {
                    const page = await answered(api.GET("/api/v2/pools", { params: { query } }));
                    return { rows: page.pools, total: page.total_entries };
                }}
                columns={columns(setOpen, mayEdit)}
                keyOf={(pool) => pool.name}
                empty={{ title: "No pools", words: "Add one, and name it in the pool argument of a task." }}
                about="How many slots the tasks that name a pool may hold at once."
                actions={
                    mayEdit && (
                        <Button look="main" onClick={() => setOpen({ kind: "add" })}>
                            Add a pool
                        </Button>
                    )
                }
            />
            {open !== null && <Window open={open} onClose={() => setOpen(null)} />}
        </>
    );
}

function columns(open: (one: Open) => void, mayEdit: boolean): Column<Pool>[] {
    return [
        {
            head: "Pool",
            cell: (pool) => (
                <div className={styles.name}>
                    <strong>{pool.name}</strong>
                    <div className={styles.quiet}>{pool.description}</div>
                    {pool.warning !== null && <div className={styles.problem}>{pool.warning}</div>}
                </div>
            ),
        },
        { head: "Slots held", cell: (pool) => <Held pool={pool} /> },
        { head: "Running", isNumber: true, isWide: true, cell: (pool) => pool.running_slots },
        { head: "Queued", isNumber: true, isWide: true, cell: (pool) => pool.queued_slots },
        { head: "Waiting", isNumber: true, cell: (pool) => pool.scheduled_slots },
        { head: "Deferred", isNumber: true, isWide: true, cell: (pool) => pool.deferred_slots },
        { head: "Team", has: (pool) => pool.team_name, cell: (pool) => pool.team_name },
        {
            head: "Actions",
            isHeadHidden: true,
            cell: (pool) => (
                <div className={styles.row}>
                    <Button look="quiet" onClick={() => open({ kind: "holders", pool })}>
                        What holds slots
                    </Button>
                    {mayEdit && (
                        <Button look="quiet" onClick={() => open({ kind: "edit", pool })}>
                            Edit
                        </Button>
                    )}
                    {mayEdit && pool.name !== "default_pool" && (
                        <Button look="quiet" onClick={() => open({ kind: "delete", pool })}>
                            Delete
                        </Button>
                    )}
                </div>
            ),
        },
    ];
}

function Held({ pool }: { pool: Pool }) {
    if (pool.slots < 0) return `${pool.occupied_slots}, no limit`;
    if (pool.slots === 0) return "closed";
    return (
        <span className={styles.held}>
            <meter
                className={styles.meter}
                aria-label={`Slots of ${pool.name} that are held`}
                value={pool.occupied_slots}
                max={pool.slots}
            />
            {pool.occupied_slots} of {pool.slots}
            {pool.include_deferred && <div className={styles.quiet}>deferred tasks too</div>}
        </span>
    );
}

function Window({ open, onClose }: { open: Open; onClose: () => void }) {
    if (open.kind === "add") return <PoolForm onClose={onClose} />;
    if (open.kind === "edit") return <PoolForm pool={open.pool} onClose={onClose} />;
    if (open.kind === "holders") return <PoolHolders pool={open.pool.name} onClose={onClose} />;
    const { name, occupied_slots, scheduled_slots } = open.pool;
    return (
        <FormDialog
            title={`Delete pool ${name}?`}
            button={`Delete pool ${name}`}
            isDanger
            act={() => answered(api.DELETE("/api/v2/pools/{pool_name}", { params: { path: { pool_name: name } } }))}
            onClose={onClose}
        >
            <p>
                Tasks that name it wait until a pool of this name is there again. Just now {occupied_slots} of its slots
                are held, and {scheduled_slots} are waited for.
            </p>
        </FormDialog>
    );
}

function PoolForm({ pool, onClose }: { pool?: Pool; onClose: () => void }) {
    const save = (form: FormData) => {
        const body = {
            slots: Number(written(form, "slots")),
            description: writtenOrNull(form, "description"),
            include_deferred: form.has("include_deferred"),
        };
        const name = pool?.name ?? written(form, "name");
        return pool === undefined
            ? answered(api.POST("/api/v2/pools", { body: { ...body, name } }))
            : answered(api.PATCH("/api/v2/pools/{pool_name}", { params: { path: { pool_name: name } }, body }));
    };
    const title = pool === undefined ? "Add a pool" : `Pool ${pool.name}`;
    return (
        <FormDialog title={title} button="Save pool" act={save} onClose={onClose}>
            {pool === undefined && <Field label="Name" name="name" required maxLength={250} />}
            <Field
                label="Slots"
                name="slots"
                type="number"
                min={-1}
                required
                hint="0: closed, nothing that names it starts; -1: no limit"
                defaultValue={pool?.slots ?? 8}
            />
            <Field label="Description" name="description" defaultValue={pool?.description ?? ""} />
            <Check
                label="Deferred tasks hold slots too"
                name="include_deferred"
                defaultChecked={pool?.include_deferred ?? false}
            />
        </FormDialog>
    );
}
