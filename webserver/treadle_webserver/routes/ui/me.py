"""Who looks, and what the pages need to know of the installation; favourites of who looks."""

from __future__ import annotations

from fastapi import APIRouter, Response

from treadle.version import __version__
from treadle_metadata import favorites
from treadle_metadata.queries.dags import check_dag
from treadle_metadata.settings import executor_names
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import DagId
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.times import utc
from treadle_webserver.shapes.ui.overview import MeShape

router = APIRouter(prefix="/ui", tags=["UI"], route_class=RetriedRoute)


@router.get("/me")
async def get_ui_me(actor: ActorOf, service: ServiceOf) -> MeShape:
    """Return the account that asks, with its rights, and the settings that pages show or need."""
    rights, limit = actor.rights, actor.rights.limit
    settings = service.settings
    return {
        "username": actor.username,
        "role": actor.role,
        "permissions": sorted(one.value for one in rights.everywhere if limit is None or one in limit),
        "team_permissions": {team: sorted(one.value for one in held) for team, held in rights.of_teams.items()},
        "dag_permissions": {dag_id: sorted(one.value for one in held) for dag_id, held in rights.of_dags.items()},
        "version": __version__,
        "now": utc(service.now()) or service.now(),
        "timezone": settings.timezone,
        "executors": list(executor_names(settings)),
        "max_active_runs_per_dag": settings.max_active_runs_per_dag,
        "max_active_tasks_per_dag": settings.max_active_tasks_per_dag,
    }


@router.put("/favorites/{dag_id}", status_code=204, response_class=Response)
def put_ui_favorite(dag_id: DagId, actor: ActorOf, service: ServiceOf) -> None:
    """Mark a DAG as a favourite of who asks."""
    with service.database.begin() as connection:
        check_dag(connection, dag_id)
    _set(service, actor.username, dag_id, on=True)


@router.delete("/favorites/{dag_id}", status_code=204, response_class=Response)
def delete_ui_favorite(dag_id: DagId, actor: ActorOf, service: ServiceOf) -> None:
    """Take the mark back."""
    _set(service, actor.username, dag_id, on=False)


def _set(service: ServiceOf, username: str, dag_id: str, *, on: bool) -> None:
    with service.database.begin() as connection:
        favorites.set_favorite(connection, username, dag_id, on=on, now=service.now())
