"""Which permission each route needs, in one table, and which permissions each role has. Denied by default.

``create_app`` refuses to start when a route has no entry or an entry has no route; a generated test walks all routes
and roles (cases F1, F12).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from treadle_metadata.accounts import Role


class Permission(StrEnum):
    """What a route may need."""

    PUBLIC = "public"
    """No login at all."""
    ATTEMPT = "token of an attempt"
    """No account: the route itself asks for the token of the attempt that it is about."""
    AWAKEABLE = "token of an awakeable"
    """No account: the token of a durable step that waits for an outside party, good for one post."""
    LOGGED_IN = "logged in"
    """Any account."""
    READ_DAGS = "read DAGs"
    """DAGs, versions, source, runs, task instances, logs, import errors, warnings, pools and backfills."""
    READ_XCOMS = "read XComs"
    EDIT_DAGS = "edit DAGs"
    """Pause and unpause."""
    EDIT_RUNS = "edit runs"
    """Trigger, mark, clear and delete runs and task instances; make backfills."""
    READ_VARIABLES = "read variables"
    EDIT_VARIABLES = "edit variables"
    READ_CONNECTIONS = "read connections"
    EDIT_CONNECTIONS = "edit connections"
    EDIT_POOLS = "edit pools"
    READ_AUDIT = "read the audit log"


P = Permission

_VIEWER = frozenset({P.LOGGED_IN, P.READ_DAGS, P.READ_XCOMS})
_USER = _VIEWER | {P.EDIT_DAGS, P.EDIT_RUNS}
_OP = _USER | {
    P.READ_VARIABLES,
    P.EDIT_VARIABLES,
    P.READ_CONNECTIONS,
    P.EDIT_CONNECTIONS,
    P.EDIT_POOLS,
    P.READ_AUDIT,
}

ROLES: Final[dict[Role, frozenset[Permission]]] = {
    Role.VIEWER: _VIEWER,
    Role.USER: _USER,
    Role.OP: _OP,
    Role.ADMIN: frozenset(P) - {P.PUBLIC, P.ATTEMPT, P.AWAKEABLE},
}

_DAG = "/api/v2/dags/{dag_id}"
_RUN = f"{_DAG}/dagRuns/{{dag_run_id}}"
_INSTANCE = f"{_RUN}/taskInstances/{{task_id}}"

TABLE: Final[dict[tuple[str, str], Permission]] = {
    ("GET", "/api/v2/monitor/health"): P.PUBLIC,
    ("GET", "/api/v2/version"): P.PUBLIC,
    ("POST", "/auth/token"): P.PUBLIC,
    ("POST", "/auth/logout"): P.LOGGED_IN,
    ("GET", "/auth/me"): P.LOGGED_IN,
    ("GET", "/api/v2/dags"): P.READ_DAGS,
    ("PATCH", "/api/v2/dags"): P.EDIT_DAGS,
    ("GET", _DAG): P.READ_DAGS,
    ("PATCH", _DAG): P.EDIT_DAGS,
    ("GET", f"{_DAG}/details"): P.READ_DAGS,
    ("GET", f"{_DAG}/tasks"): P.READ_DAGS,
    ("GET", f"{_DAG}/tasks/{{task_id}}"): P.READ_DAGS,
    ("GET", f"{_DAG}/dagVersions"): P.READ_DAGS,
    ("GET", f"{_DAG}/dagVersions/{{version_number}}"): P.READ_DAGS,
    ("GET", f"{_DAG}/dagVersions/{{version_number}}/diff/{{other_version_number}}"): P.READ_DAGS,
    ("GET", f"{_DAG}/why"): P.READ_DAGS,
    ("GET", f"{_DAG}/missedTimes"): P.READ_DAGS,
    ("GET", f"{_RUN}/why"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/why"): P.READ_DAGS,
    ("GET", "/api/v2/dagSources/{dag_id}"): P.READ_DAGS,
    ("GET", "/api/v2/dagTags"): P.READ_DAGS,
    ("GET", "/api/v2/dagStats"): P.READ_DAGS,
    ("GET", "/api/v2/dagWarnings"): P.READ_DAGS,
    ("GET", "/api/v2/importErrors"): P.READ_DAGS,
    ("GET", "/api/v2/importErrors/{import_error_id}"): P.READ_DAGS,
    ("GET", f"{_DAG}/dagRuns"): P.READ_DAGS,
    ("POST", f"{_DAG}/dagRuns"): P.EDIT_RUNS,
    ("GET", _RUN): P.READ_DAGS,
    ("PATCH", _RUN): P.EDIT_RUNS,
    ("DELETE", _RUN): P.EDIT_RUNS,
    ("POST", f"{_RUN}/clear"): P.EDIT_RUNS,
    ("GET", f"{_RUN}/wait"): P.READ_DAGS,
    ("GET", f"{_RUN}/callbacks"): P.READ_DAGS,
    ("GET", f"{_RUN}/callbacks/{{callback_id}}/log"): P.READ_DAGS,
    ("GET", f"{_RUN}/deadlines"): P.READ_DAGS,
    ("GET", f"{_RUN}/taskInstances"): P.READ_DAGS,
    ("GET", _INSTANCE): P.READ_DAGS,
    ("PATCH", _INSTANCE): P.EDIT_RUNS,
    ("GET", f"{_INSTANCE}/listMapped"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/tries"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/tries/{{task_try_number}}"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/{{map_index}}"): P.READ_DAGS,
    ("PATCH", f"{_INSTANCE}/{{map_index}}"): P.EDIT_RUNS,
    ("GET", f"{_INSTANCE}/{{map_index}}/tries"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/{{map_index}}/tries/{{task_try_number}}"): P.READ_DAGS,
    ("POST", f"{_DAG}/clearTaskInstances"): P.EDIT_RUNS,
    ("GET", f"{_INSTANCE}/logs/{{try_number}}"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/xcomEntries"): P.READ_XCOMS,
    ("GET", f"{_INSTANCE}/xcomEntries/{{xcom_key:path}}"): P.READ_XCOMS,
    ("GET", f"{_RUN}/steps"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/steps"): P.READ_XCOMS,
    ("POST", f"{_INSTANCE}/steps/accept"): P.EDIT_RUNS,
    ("POST", f"{_INSTANCE}/steps/discard"): P.EDIT_RUNS,
    ("POST", "/api/v2/awakeables"): P.AWAKEABLE,
    ("GET", "/api/v2/pools"): P.READ_DAGS,
    ("POST", "/api/v2/pools"): P.EDIT_POOLS,
    ("GET", "/api/v2/pools/{pool_name:path}"): P.READ_DAGS,
    ("PATCH", "/api/v2/pools/{pool_name:path}"): P.EDIT_POOLS,
    ("DELETE", "/api/v2/pools/{pool_name:path}"): P.EDIT_POOLS,
    ("GET", "/api/v2/variables"): P.READ_VARIABLES,
    ("POST", "/api/v2/variables"): P.EDIT_VARIABLES,
    ("GET", "/api/v2/variables/{variable_key:path}"): P.READ_VARIABLES,
    ("PATCH", "/api/v2/variables/{variable_key:path}"): P.EDIT_VARIABLES,
    ("DELETE", "/api/v2/variables/{variable_key:path}"): P.EDIT_VARIABLES,
    ("GET", "/api/v2/connections"): P.READ_CONNECTIONS,
    ("POST", "/api/v2/connections"): P.EDIT_CONNECTIONS,
    ("GET", "/api/v2/connections/{connection_id:path}"): P.READ_CONNECTIONS,
    ("PATCH", "/api/v2/connections/{connection_id:path}"): P.EDIT_CONNECTIONS,
    ("DELETE", "/api/v2/connections/{connection_id:path}"): P.EDIT_CONNECTIONS,
    ("GET", "/api/v2/backfills"): P.READ_DAGS,
    ("POST", "/api/v2/backfills"): P.EDIT_RUNS,
    ("POST", "/api/v1/backfills"): P.EDIT_RUNS,
    ("POST", "/api/v2/backfills/dry_run"): P.EDIT_RUNS,
    ("GET", "/api/v2/backfills/{backfill_id}"): P.READ_DAGS,
    ("GET", "/api/v2/backfills/{backfill_id}/progress"): P.READ_DAGS,
    ("PUT", "/api/v2/backfills/{backfill_id}/pause"): P.EDIT_RUNS,
    ("PUT", "/api/v2/backfills/{backfill_id}/unpause"): P.EDIT_RUNS,
    ("PUT", "/api/v2/backfills/{backfill_id}/cancel"): P.EDIT_RUNS,
    ("GET", "/api/v2/assets"): P.READ_DAGS,
    ("GET", "/api/v2/assets/aliases"): P.READ_DAGS,
    ("GET", "/api/v2/assets/aliases/{asset_alias_id}"): P.READ_DAGS,
    ("GET", "/api/v2/assets/events"): P.READ_DAGS,
    ("POST", "/api/v2/assets/events"): P.EDIT_RUNS,
    ("GET", "/api/v2/assets/{asset_id}"): P.READ_DAGS,
    ("POST", "/api/v2/assets/{asset_id}/materialize"): P.EDIT_RUNS,
    ("GET", "/api/v2/assets/{asset_id}/queuedEvents"): P.READ_DAGS,
    ("DELETE", "/api/v2/assets/{asset_id}/queuedEvents"): P.EDIT_RUNS,
    ("GET", f"{_DAG}/assets/queuedEvents"): P.READ_DAGS,
    ("DELETE", f"{_DAG}/assets/queuedEvents"): P.EDIT_RUNS,
    ("GET", f"{_DAG}/assets/{{asset_id}}/queuedEvents"): P.READ_DAGS,
    ("DELETE", f"{_DAG}/assets/{{asset_id}}/queuedEvents"): P.EDIT_RUNS,
    ("GET", f"{_RUN}/upstreamAssetEvents"): P.READ_DAGS,
    ("GET", "/api/v2/eventLogs"): P.READ_AUDIT,
    ("GET", "/api/v2/eventLogs/{event_log_id}"): P.READ_AUDIT,
    ("POST", "/execution/v1/reports"): P.ATTEMPT,
    ("POST", "/execution/v1/questions"): P.ATTEMPT,
    ("POST", "/execution/v1/logs"): P.ATTEMPT,
}


class PermissionTableError(RuntimeError):
    """The table and the routes differ, so the server must not start."""


def check_table(routes: Iterable[tuple[str, str]]) -> None:
    """Check that the table names exactly ``routes`` (method and path).

    Raises:
        PermissionTableError: a route has no entry, or an entry no route.
    """
    present = set(routes)
    missing = sorted(present - set(TABLE))
    stale = sorted(set(TABLE) - present)
    if missing:
        raise PermissionTableError(
            f"{' '.join(missing[0])} has no entry in permissions.TABLE: it would be open to nobody"
        )
    if stale:
        raise PermissionTableError(f"permissions.TABLE names {' '.join(stale[0])}, which is no route")


def allowed(role: Role, permission: Permission) -> bool:
    """Tell whether accounts of ``role`` have ``permission``."""
    return permission in ROLES[role]
