import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { queries } from "../../api/queries";
import { Button } from "../../components/button";
import { Field, Select } from "../../components/field";
import { FormDialog, written } from "../../components/form_dialog";
import { ErrorNote } from "../../components/notes";
import styles from "./admin.module.css";
import { useAccountNames } from "./known_names";
import type { Team } from "./teams";

/** Who belongs to a team, and with which role for what is the team's. */
export function TeamMembers({ team, onClose }: { team: Team; onClose: () => void }) {
    // Whose going was asked for, and is told before it is done.
    const [asked, setAsked] = useState<string | null>(null);
    const [gone, setGone] = useState<readonly string[]>([]);
    const roles = useQuery({
        queryKey: [...keys.admin, "role names"],
        queryFn: () => answered(api.GET("/auth/roles")),
    });
    const accounts = useAccountNames();
    const removal = useMutation({
        mutationFn: (username: string) =>
            answered(
                api.DELETE("/auth/teams/{team_name}/members/{username}", {
                    params: { path: { team_name: team.name, username } },
                }),
            ),
        onSuccess: (_, username) => {
            setGone([...gone, username]);
            return queries.invalidateQueries({ queryKey: keys.admin });
        },
    });
    const add = (form: FormData) => {
        const path = { team_name: team.name, username: written(form, "username") };
        const body = { role: written(form, "role") };
        return answered(api.PUT("/auth/teams/{team_name}/members/{username}", { params: { path }, body }));
    };
    if (roles.data === undefined) return null;
    const members = Object.entries(team.members).filter(([username]) => !gone.includes(username));
    const others = accounts.filter((name) => !members.some(([username]) => username === name));
    return (
        <FormDialog title={`Members of ${team.name}`} button="Add member" act={add} onClose={onClose}>
            {members.length === 0 && <p className={styles.quiet}>Nobody belongs to it yet.</p>}
            <ul className={styles.list}>
                {members.map(([username, role]) => (
                    <li key={username}>
                        <strong>{username}</strong> {role}
                        {asked === username ? (
                            <Button look="danger" disabled={removal.isPending} onClick={() => removal.mutate(username)}>
                                {`Take ${username} away: no longer ${role} for what is ${team.name}'s`}
                            </Button>
                        ) : (
                            <Button
                                look="quiet"
                                aria-label={`Take away… ${username}`}
                                onClick={() => setAsked(username)}
                            >
                                Take away…
                            </Button>
                        )}
                    </li>
                ))}
            </ul>
            {removal.error !== null && <ErrorNote error={removal.error} />}
            <div className={styles.pair}>
                <Field label="Account" name="username" among={others} required />
                <Select label="Role" name="role" defaultValue="User">
                    {roles.data.roles.map((role) => (
                        <option key={role.name}>{role.name}</option>
                    ))}
                </Select>
            </div>
        </FormDialog>
    );
}
