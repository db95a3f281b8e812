"""Which permission each route needs, in one table, and which permissions each role has. Denied by default.

``create_app`` refuses to start when a route has no entry or an entry has no route; a generated test walks all routes
and roles (cases F1, F12).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from treadle_metadata.rights.permissions import ROLES, Permission

__all__ = ["ROLES", "TABLE", "Permission", "PermissionTableError", "check_table"]


P = Permission

_DAG = "/api/v2/dags/{dag_id}"
_RUN = f"{_DAG}/dagRuns/{{dag_run_id}}"
_INSTANCE = f"{_RUN}/taskInstances/{{task_id}}"
_UI_DAG = "/ui/dags/{dag_id}"
_UI_RUN = f"{_UI_DAG}/runs/{{run_id}}"

TABLE: Final[dict[tuple[str, str], Permission]] = {
    ("GET", "/api/v2/monitor/health"): P.PUBLIC,
    ("GET", "/api/v2/version"): P.PUBLIC,
    ("GET", "/{address:path}"): P.PUBLIC,
    ("POST", "/auth/token"): P.PUBLIC,
    ("POST", "/auth/login"): P.PUBLIC,
    ("POST", "/auth/logout"): P.LOGGED_IN,
    ("GET", "/auth/me"): P.LOGGED_IN,
    ("PUT", "/auth/me/password"): P.LOGGED_IN,
    ("GET", "/auth/me/sessions"): P.LOGGED_IN,
    ("DELETE", "/auth/me/sessions/{session_id}"): P.LOGGED_IN,
    ("GET", "/auth/me/tokens"): P.LOGGED_IN,
    ("POST", "/auth/me/tokens"): P.LOGGED_IN,
    ("DELETE", "/auth/me/tokens/{token_id}"): P.LOGGED_IN,
    ("GET", "/auth/permissions"): P.LOGGED_IN,
    ("GET", "/auth/accounts"): P.MANAGE_ACCOUNTS,
    ("POST", "/auth/accounts"): P.MANAGE_ACCOUNTS,
    ("GET", "/auth/accounts/{username}"): P.MANAGE_ACCOUNTS,
    ("PATCH", "/auth/accounts/{username}"): P.MANAGE_ACCOUNTS,
    ("DELETE", "/auth/accounts/{username}"): P.MANAGE_ACCOUNTS,
    ("GET", "/auth/sessions"): P.MANAGE_ACCOUNTS,
    ("DELETE", "/auth/sessions/{session_id}"): P.MANAGE_ACCOUNTS,
    ("GET", "/auth/tokens"): P.MANAGE_ACCOUNTS,
    ("DELETE", "/auth/tokens/{token_id}"): P.MANAGE_ACCOUNTS,
    ("GET", "/auth/roles"): P.MANAGE_ACCOUNTS,
    ("PUT", "/auth/roles/{role_name}"): P.MANAGE_ACCOUNTS,
    ("DELETE", "/auth/roles/{role_name}"): P.MANAGE_ACCOUNTS,
    ("GET", "/auth/teams"): P.MANAGE_ACCOUNTS,
    ("POST", "/auth/teams"): P.MANAGE_ACCOUNTS,
    ("PATCH", "/auth/teams/{team_name}"): P.MANAGE_ACCOUNTS,
    ("DELETE", "/auth/teams/{team_name}"): P.MANAGE_ACCOUNTS,
    ("PUT", "/auth/teams/{team_name}/members/{username}"): P.MANAGE_ACCOUNTS,
    ("DELETE", "/auth/teams/{team_name}/members/{username}"): P.MANAGE_ACCOUNTS,
    ("GET", "/auth/grants"): P.MANAGE_ACCOUNTS,
    ("PUT", "/auth/grants"): P.MANAGE_ACCOUNTS,
    ("GET", "/api/v2/dags"): P.READ_DAGS,
    ("PATCH", "/api/v2/dags"): P.EDIT_DAGS,
    ("GET", _DAG): P.READ_DAGS,
    ("PATCH", _DAG): P.EDIT_DAGS,
    ("DELETE", _DAG): P.EDIT_DAGS,
    ("POST", f"{_DAG}/favorite"): P.READ_DAGS,
    ("POST", f"{_DAG}/unfavorite"): P.READ_DAGS,
    ("GET", f"{_DAG}/details"): P.READ_DAGS,
    ("GET", f"{_DAG}/tasks"): P.READ_DAGS,
    ("GET", f"{_DAG}/tasks/{{task_id}}"): P.READ_DAGS,
    ("GET", f"{_DAG}/dagVersions"): P.READ_DAGS,
    ("GET", f"{_DAG}/dagVersions/{{version_number}}"): P.READ_DAGS,
    ("GET", f"{_DAG}/dagVersions/{{version_number}}/diff/{{other_version_number}}"): P.READ_CODE,
    ("GET", f"{_DAG}/why"): P.READ_DAGS,
    ("GET", f"{_DAG}/missedTimes"): P.READ_DAGS,
    ("GET", f"{_RUN}/why"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/why"): P.READ_DAGS,
    ("PUT", "/api/v2/parseDagFile/{file_token}"): P.EDIT_DAGS,
    ("GET", "/api/v2/dagSources/{dag_id}"): P.READ_CODE,
    ("GET", "/api/v2/dagTags"): P.READ_DAGS,
    ("GET", "/api/v2/dagStats"): P.READ_DAGS,
    ("GET", "/api/v2/dagWarnings"): P.READ_DAGS,
    ("GET", "/api/v2/importErrors"): P.READ_CODE,
    ("GET", "/api/v2/importErrors/{import_error_id}"): P.READ_CODE,
    ("GET", f"{_DAG}/dagRuns"): P.READ_DAGS,
    ("PATCH", f"{_DAG}/dagRuns"): P.EDIT_RUNS,
    ("POST", f"{_DAG}/dagRuns/list"): P.READ_DAGS,
    ("POST", f"{_DAG}/clearDagRuns"): P.CLEAR_RUNS,
    ("POST", f"{_DAG}/dagRuns"): P.TRIGGER_RUNS,
    ("GET", _RUN): P.READ_DAGS,
    ("PATCH", _RUN): P.EDIT_RUNS,
    ("DELETE", _RUN): P.EDIT_RUNS,
    ("POST", f"{_RUN}/clear"): P.CLEAR_RUNS,
    ("GET", f"{_RUN}/wait"): P.READ_DAGS,
    ("GET", f"{_RUN}/callbacks"): P.READ_DAGS,
    ("GET", f"{_RUN}/callbacks/{{callback_id}}/log"): P.READ_LOGS,
    ("GET", f"{_RUN}/deadlines"): P.READ_DAGS,
    ("POST", f"{_RUN}/taskInstances/list"): P.READ_DAGS,
    ("PATCH", f"{_RUN}/taskInstances"): P.EDIT_RUNS,
    ("PATCH", f"{_RUN}/taskGroupInstances/{{group_id}}"): P.EDIT_RUNS,
    ("PATCH", f"{_RUN}/taskGroupInstances/{{group_id}}/dry_run"): P.EDIT_RUNS,
    ("PATCH", f"{_INSTANCE}/dry_run"): P.EDIT_RUNS,
    ("PATCH", f"{_INSTANCE}/{{map_index}}/dry_run"): P.EDIT_RUNS,
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
    ("POST", f"{_DAG}/clearTaskInstances"): P.CLEAR_RUNS,
    ("GET", f"{_INSTANCE}/logs/{{try_number}}"): P.READ_LOGS,
    ("GET", f"{_INSTANCE}/logs/{{try_number}}/search"): P.READ_LOGS,
    ("GET", f"{_INSTANCE}/logs/{{try_number}}/follow"): P.READ_LOGS,
    ("GET", f"{_INSTANCE}/logs/{{try_number}}/download"): P.READ_LOGS,
    ("GET", f"{_INSTANCE}/xcomEntries"): P.READ_XCOMS,
    ("POST", f"{_INSTANCE}/xcomEntries"): P.EDIT_XCOMS,
    ("GET", f"{_INSTANCE}/xcomEntries/{{xcom_key:path}}"): P.READ_XCOMS,
    ("PATCH", f"{_INSTANCE}/xcomEntries/{{xcom_key:path}}"): P.EDIT_XCOMS,
    ("DELETE", f"{_INSTANCE}/xcomEntries/{{xcom_key:path}}"): P.EDIT_XCOMS,
    ("GET", f"{_INSTANCE}/dependencies"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/{{map_index}}/dependencies"): P.READ_DAGS,
    ("GET", f"{_RUN}/steps"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/steps"): P.READ_XCOMS,
    ("POST", f"{_INSTANCE}/steps/accept"): P.EDIT_RUNS,
    ("POST", f"{_INSTANCE}/steps/discard"): P.EDIT_RUNS,
    ("POST", "/api/v2/awakeables"): P.AWAKEABLE,
    ("GET", f"{_RUN}/hitlDetails"): P.READ_DAGS,
    ("GET", f"{_INSTANCE}/{{map_index}}/hitlDetails"): P.READ_DAGS,
    ("PATCH", f"{_INSTANCE}/{{map_index}}/hitlDetails"): P.EDIT_RUNS,
    ("GET", f"{_INSTANCE}/{{map_index}}/hitlDetails/tries/{{try_number}}"): P.READ_DAGS,
    ("GET", "/api/v2/pools"): P.READ_POOLS,
    ("POST", "/api/v2/pools"): P.EDIT_POOLS,
    ("PATCH", "/api/v2/pools"): P.EDIT_POOLS,
    ("GET", "/api/v2/pools/{pool_name:path}"): P.READ_POOLS,
    ("PATCH", "/api/v2/pools/{pool_name:path}"): P.EDIT_POOLS,
    ("DELETE", "/api/v2/pools/{pool_name:path}"): P.EDIT_POOLS,
    ("GET", "/api/v2/variables"): P.READ_VARIABLES,
    ("POST", "/api/v2/variables"): P.EDIT_VARIABLES,
    ("PATCH", "/api/v2/variables"): P.EDIT_VARIABLES,
    ("GET", "/api/v2/variables/{variable_key:path}"): P.READ_VARIABLES,
    ("PATCH", "/api/v2/variables/{variable_key:path}"): P.EDIT_VARIABLES,
    ("DELETE", "/api/v2/variables/{variable_key:path}"): P.EDIT_VARIABLES,
    ("GET", "/api/v2/connections"): P.READ_CONNECTIONS,
    ("POST", "/api/v2/connections"): P.EDIT_CONNECTIONS,
    ("PATCH", "/api/v2/connections"): P.EDIT_CONNECTIONS,
    ("POST", "/api/v2/connections/test"): P.EDIT_CONNECTIONS,
    ("GET", "/api/v2/connections/{connection_id:path}"): P.READ_CONNECTIONS,
    ("PATCH", "/api/v2/connections/{connection_id:path}"): P.EDIT_CONNECTIONS,
    ("DELETE", "/api/v2/connections/{connection_id:path}"): P.EDIT_CONNECTIONS,
    ("GET", "/api/v2/backfills"): P.READ_DAGS,
    ("POST", "/api/v2/backfills"): P.TRIGGER_RUNS,
    ("POST", "/api/v1/backfills"): P.TRIGGER_RUNS,
    ("POST", "/api/v2/backfills/dry_run"): P.TRIGGER_RUNS,
    ("GET", "/api/v2/backfills/{backfill_id}"): P.READ_DAGS,
    ("GET", "/api/v2/backfills/{backfill_id}/progress"): P.READ_DAGS,
    ("PUT", "/api/v2/backfills/{backfill_id}/pause"): P.TRIGGER_RUNS,
    ("PUT", "/api/v2/backfills/{backfill_id}/unpause"): P.TRIGGER_RUNS,
    ("PUT", "/api/v2/backfills/{backfill_id}/cancel"): P.TRIGGER_RUNS,
    ("GET", "/api/v2/assets"): P.READ_DAGS,
    ("GET", "/api/v2/assets/aliases"): P.READ_DAGS,
    ("GET", "/api/v2/assets/aliases/{asset_alias_id}"): P.READ_DAGS,
    ("GET", "/api/v2/assets/events"): P.READ_DAGS,
    ("POST", "/api/v2/assets/events"): P.TRIGGER_RUNS,
    ("GET", "/api/v2/assets/{asset_id}"): P.READ_DAGS,
    ("POST", "/api/v2/assets/{asset_id}/materialize"): P.TRIGGER_RUNS,
    ("GET", "/api/v2/assets/{asset_id}/queuedEvents"): P.READ_DAGS,
    ("DELETE", "/api/v2/assets/{asset_id}/queuedEvents"): P.EDIT_RUNS,
    ("GET", f"{_DAG}/assets/queuedEvents"): P.READ_DAGS,
    ("DELETE", f"{_DAG}/assets/queuedEvents"): P.EDIT_RUNS,
    ("GET", f"{_DAG}/assets/{{asset_id}}/queuedEvents"): P.READ_DAGS,
    ("DELETE", f"{_DAG}/assets/{{asset_id}}/queuedEvents"): P.EDIT_RUNS,
    ("GET", f"{_RUN}/upstreamAssetEvents"): P.READ_DAGS,
    ("GET", "/api/v2/jobs"): P.READ_CONFIG,
    ("GET", "/api/v2/config"): P.READ_CONFIG,
    ("GET", "/api/v2/config/section/{section}/option/{option}"): P.READ_CONFIG,
    ("GET", "/api/v2/providers"): P.READ_CONFIG,
    ("GET", "/api/v2/eventLogs"): P.READ_AUDIT,
    ("GET", "/api/v2/eventLogs/{event_log_id}"): P.READ_AUDIT,
    ("GET", "/ui/me"): P.LOGGED_IN,
    ("PUT", "/ui/favorites/{dag_id}"): P.READ_DAGS,
    ("DELETE", "/ui/favorites/{dag_id}"): P.READ_DAGS,
    ("GET", "/ui/home"): P.READ_DAGS,
    ("GET", "/ui/forecast"): P.READ_DAGS,
    ("GET", "/ui/dags"): P.READ_DAGS,
    ("GET", "/ui/dags/counts"): P.READ_DAGS,
    ("GET", _UI_DAG): P.READ_DAGS,
    ("GET", f"{_UI_DAG}/grid"): P.READ_DAGS,
    ("GET", f"{_UI_DAG}/graph"): P.READ_DAGS,
    ("GET", f"{_UI_DAG}/code"): P.READ_CODE,
    ("GET", f"{_UI_DAG}/code/diff"): P.READ_CODE,
    ("GET", f"{_UI_DAG}/calendar"): P.READ_DAGS,
    ("GET", f"{_UI_DAG}/durations"): P.READ_DAGS,
    ("GET", f"{_UI_DAG}/durations/{{task_id}}"): P.READ_DAGS,
    ("GET", "/ui/runs"): P.READ_DAGS,
    ("GET", _UI_RUN): P.READ_DAGS,
    ("GET", f"{_UI_RUN}/states"): P.READ_DAGS,
    ("GET", f"{_UI_RUN}/gantt"): P.READ_DAGS,
    ("GET", f"{_UI_RUN}/tasks/{{task_id}}"): P.READ_DAGS,
    ("GET", f"{_UI_RUN}/tasks/{{task_id}}/instances"): P.READ_DAGS,
    ("GET", f"{_UI_RUN}/tasks/{{task_id}}/logs/{{try_number}}"): P.READ_LOGS,
    ("GET", "/ui/assets/graph"): P.READ_DAGS,
    ("GET", "/ui/timeline"): P.READ_DAGS,
    ("GET", "/ui/humanSteps"): P.READ_DAGS,
    ("GET", "/ui/audit"): P.READ_AUDIT,
    ("GET", "/ui/events"): P.READ_DAGS,
    ("POST", "/execution/v1/reports"): P.ATTEMPT,
    ("POST", "/execution/v1/questions"): P.ATTEMPT,
    ("POST", "/execution/v1/logs"): P.ATTEMPT,
    ("POST", "/execution/v1/triggerers/beats"): P.TRIGGERER,
    ("POST", "/execution/v1/triggerers/events"): P.TRIGGERER,
    ("POST", "/execution/v1/triggerers/questions"): P.TRIGGERER,
    ("POST", "/execution/v1/triggerers/leavings"): P.TRIGGERER,
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
