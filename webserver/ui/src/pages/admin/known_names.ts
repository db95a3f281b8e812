import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { keys } from "../../api/keys";
import { may, useMe } from "../../api/rights";

/** The names of the teams that may be chosen: all for whoever manages accounts, else those that one has a right in. */
export function useTeamNames(): readonly string[] {
    const me = useMe();
    const isManager = may(me, "manage accounts");
    const teams = useQuery({
        queryKey: [...keys.admin, "team names"],
        queryFn: () => answered(api.GET("/auth/teams")),
        enabled: isManager,
    });
    return isManager ? (teams.data?.teams.map((one) => one.name) ?? []) : Object.keys(me.team_permissions);
}

/** The names of all accounts, for forms of those who manage them. */
export function useAccountNames(): readonly string[] {
    const accounts = useQuery({
        queryKey: [...keys.admin, "account names"],
        queryFn: () => answered(api.GET("/auth/accounts")),
    });
    return accounts.data?.accounts.map((one) => one.username) ?? [];
}
