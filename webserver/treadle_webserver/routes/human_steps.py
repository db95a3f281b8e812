"""Human steps: what tasks ask people, and their answers. The names are those of Airflow's human-in-the-loop routes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from treadle_metadata import audit
from treadle_metadata.human_steps import respond
from treadle_metadata.queries import human_steps as queries
from treadle_metadata.queries.conditions import Between
from treadle_metadata.queries.dags import get_dag
from treadle_metadata.queries.task_instances import get_instance, get_try
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import (
    CursorQuery,
    DagId,
    EndOfDay,
    MapIndex,
    Moment,
    RunId,
    StrictBody,
    TaskId,
    Text,
    Texts,
    TryNumber,
    cursors,
    one_or_all,
)
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.human_steps import (
    AnswerShape,
    HumanStepListShape,
    HumanStepOfTryShape,
    HumanStepShape,
    answer_shape,
    human_step_shape,
    step_of_try_shape,
)

router = APIRouter(prefix="/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}", tags=["HITL"], route_class=RetriedRoute)

_STEP = "/taskInstances/{task_id}/{map_index}/hitlDetails"


class HumanStepQuery(CursorQuery):
    """Which questions. ``response_received=false`` gives those that wait for an answer: the inbox."""

    dag_id_pattern: Text = None
    task_id: Text = None
    task_id_pattern: Text = None
    map_index: int | None = Field(None, ge=-1, le=2**31 - 1)
    state: Texts = []
    response_received: bool | None = None
    responded_by_user_id: Texts = []
    responded_by_user_name: Texts = []
    subject_search: Text = None
    body_search: Text = None
    created_at_gte: Moment = None
    created_at_gt: EndOfDay = None
    created_at_lte: EndOfDay = None
    created_at_lt: Moment = None

    def wanted(self, dag_id: str, run_id: str) -> queries.StepFilter:
        """Return the filter, for one or all DAGs and runs."""
        return queries.StepFilter(
            dag_id=one_or_all(dag_id),
            run_id=one_or_all(run_id),
            dag_id_pattern=self.dag_id_pattern,
            task_id=self.task_id,
            task_id_pattern=self.task_id_pattern,
            map_index=self.map_index,
            states=self.state,
            answered=self.response_received,
            answered_by=[*self.responded_by_user_id, *self.responded_by_user_name],
            subject=self.subject_search,
            body=self.body_search,
            asked_at=Between(
                gte=self.created_at_gte, gt=self.created_at_gt, lte=self.created_at_lte, lt=self.created_at_lt
            ),
        )


class AnswerBody(StrictBody):
    """An answer: what is chosen, and the values of the form; those that are not given keep their defaults."""

    chosen_options: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(min_length=1, max_length=1000)]
    params_input: dict[str, Any] = {}


@router.get("/hitlDetails")
def get_hitl_details(
    dag_id: DagId, dag_run_id: RunId, query: Annotated[HumanStepQuery, Query()], service: ServiceOf
) -> HumanStepListShape:
    """List what tasks ask people, the oldest first; ``~`` stands for all DAGs or all runs."""
    with service.database.begin() as connection:
        if one_or_all(dag_id) is not None:
            get_dag(connection, dag_id)
        page = queries.list_steps(connection, query.wanted(dag_id, dag_run_id), query.page)
    return {"hitl_details": [human_step_shape(row) for row in page.rows], **cursors(page)}


@router.get(_STEP)
def get_hitl_detail(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, map_index: MapIndex, service: ServiceOf
) -> HumanStepShape:
    """Return what a task instance asks, with the answer if there is one."""
    with service.database.begin() as connection:
        instance = get_instance(connection, dag_id, dag_run_id, task_id, map_index)
        return human_step_shape(queries.get_step(connection, instance))


@router.patch(_STEP)
def update_hitl_detail(
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    map_index: MapIndex,
    body: AnswerBody,
    actor: ActorOf,
    service: ServiceOf,
) -> AnswerShape:
    """Answer what a task instance asks: once, the task goes on. A later answer is refused with 409."""
    now = service.now()
    with service.database.begin() as connection:
        instance = get_instance(connection, dag_id, dag_run_id, task_id, map_index)
        step = respond(connection, instance, body.chosen_options, body.params_input, by=actor.username, now=now)
        audit.record(
            connection,
            actor=actor.username,
            event="answer_human_step",
            dag_id=dag_id,
            run_id=dag_run_id,
            task_id=task_id,
            map_index=map_index,
            detail={"chosen": body.chosen_options},
            now=now,
        )
    return answer_shape(step)


@router.get(f"{_STEP}/tries/{{try_number}}")
def get_hitl_detail_try_detail(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, map_index: MapIndex, try_number: TryNumber, service: ServiceOf
) -> HumanStepOfTryShape:
    """Return what a try of a task instance asked, withdrawn or not."""
    with service.database.begin() as connection:
        instance = get_instance(connection, dag_id, dag_run_id, task_id, map_index)
        step = queries.get_step(connection, instance, try_number)
        return step_of_try_shape(step, get_try(connection, instance, try_number))
