"""What setting the state of a run would change, told before anybody does it: the same plan as that of the change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from typing_extensions import TypedDict

from treadle_metadata.run_marks import plan_run_mark
from treadle_metadata.runs import find_run
from treadle_webserver.parameters import DagId, RunId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.dag_runs import RunPatch, UpdateMask
from treadle_webserver.service import ServiceOf

router = APIRouter(prefix="/api/v2/dags/{dag_id}/dagRuns", tags=["DagRun"], route_class=RetriedRoute)


class InstanceChangeShape(TypedDict):
    """One task instance, the state that it is in, and the one that it would be in."""

    task_id: str
    map_index: int
    state: str
    new_state: str


class RunPreviewShape(TypedDict):
    """What a patch would change of a run. ``new_state``: what it is in right after it, ``running`` as long as
    ``teardowns``, tasks that clean up what was set up, are still to run. Without a new state nothing changes."""

    dag_id: str
    dag_run_id: str
    new_state: str | None
    teardowns: list[str]
    changes: list[InstanceChangeShape]
    total_entries: int


@router.patch("/{dag_run_id}/dry_run")
def patch_dag_run_dry_run(
    dag_id: DagId, dag_run_id: RunId, body: RunPatch, service: ServiceOf, update_mask: UpdateMask = None
) -> RunPreviewShape:
    """List every task instance whose state a patch of a run would change, without changing anything.

    It is refused where the patch would be: if there is no such run, or it is in that state already.
    """
    wanted = body.state if update_mask is None or "state" in update_mask else None
    with service.database.begin() as connection:
        if wanted is None:
            find_run(connection, dag_id, dag_run_id)
            return _shape(dag_id, dag_run_id, None, (), ())
        plan = plan_run_mark(connection, dag_id, dag_run_id, wanted)
    return _shape(dag_id, dag_run_id, plan.state.value, plan.teardowns, plan.changes)


def _shape(
    dag_id: str, run_id: str, state: str | None, teardowns: tuple[str, ...], changes: tuple[Mapping[str, Any], ...]
) -> RunPreviewShape:
    return {
        "dag_id": dag_id,
        "dag_run_id": run_id,
        "new_state": state,
        "teardowns": list(teardowns),
        "changes": [
            {
                "task_id": one["task_id"],
                "map_index": one["map_index"],
                "state": one["state"],
                "new_state": one["new_state"],
            }
            for one in changes
        ],
        "total_entries": len(changes),
    }
