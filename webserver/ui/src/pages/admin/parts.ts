import type { RouteObject } from "react-router";
import { may } from "../../api/rights";
import type { Me } from "../../api/session";

export interface Part {
    path: string;
    label: string;
    permission: string;
}

/** The parts of the administration, and the permission that each is for. */
export const PARTS: readonly Part[] = [
    { path: "pools", label: "Pools", permission: "read pools" },
    { path: "variables", label: "Variables", permission: "read variables" },
    { path: "connections", label: "Connections", permission: "read connections" },
    { path: "problems", label: "Broken files", permission: "read code" },
    { path: "accounts", label: "Accounts", permission: "manage accounts" },
    { path: "roles", label: "Roles", permission: "manage accounts" },
    { path: "teams", label: "Teams", permission: "manage accounts" },
    { path: "grants", label: "Grants", permission: "manage accounts" },
    { path: "sessions", label: "Sessions", permission: "manage accounts" },
    { path: "audit", label: "Audit", permission: "read the audit log" },
    { path: "settings", label: "Settings", permission: "read settings" },
    { path: "processes", label: "Processes", permission: "read settings" },
];

/** Return the parts that an account may see: by a right that it has everywhere, in a team or with a DAG. */
export function partsFor(me: Me): readonly Part[] {
    const held = [...Object.values(me.team_permissions), ...Object.values(me.dag_permissions)].flat();
    return PARTS.filter(({ permission }) => may(me, permission) || held.includes(permission));
}

/** The addresses of the administration. */
export const ADMIN_ROUTES: RouteObject[] = [
    { path: "pools", lazy: () => import("./pools") },
    { path: "variables", lazy: () => import("./variables") },
    { path: "connections", lazy: () => import("./connections") },
    { path: "problems", lazy: () => import("./problems") },
    { path: "accounts", lazy: () => import("./accounts") },
    { path: "roles", lazy: () => import("./roles") },
    { path: "teams", lazy: () => import("./teams") },
    { path: "grants", lazy: () => import("./grants") },
    { path: "sessions", lazy: () => import("./sessions") },
    { path: "audit", lazy: () => import("./audit") },
    { path: "settings", lazy: () => import("./settings") },
    { path: "processes", lazy: () => import("./processes") },
];
