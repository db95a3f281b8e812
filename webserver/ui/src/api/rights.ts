import { createContext, useContext } from "react";
import type { Me } from "./session";

export const MeContext = createContext<Me | null>(null);

/** Return the account that is logged in; only below the shell, which shows pages to nobody else. */
export function useMe(): Me {
    const me = useContext(MeContext);
    if (me === null) throw new Error("useMe is used outside of the shell");
    return me;
}

/** Return whether an account may do something, everywhere or with this DAG. The server decides; buttons follow it. */
export function may(me: Me, permission: string, dagId?: string): boolean {
    if (me.permissions.includes(permission)) return true;
    return dagId !== undefined && (me.dag_permissions[dagId]?.includes(permission) ?? false);
}
