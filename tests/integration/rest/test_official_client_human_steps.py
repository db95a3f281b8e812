"""Human steps through Airflow's official client: its inbox, one question, its answer, and a question's try."""

from __future__ import annotations

import pytest
from airflow_client.client import api, models
from airflow_client.client.exceptions import ApiException
from tests.integration.rest.conftest import Service
from tests.support.asking import ask

from treadle_metadata.statements import execute

PLACE = ("bakery", "order-1", "bake", -1)


@pytest.fixture
def asked(service: Service) -> Service:
    """A run whose first task asks how many."""
    scheduler = service.scheduler
    scheduler.trigger("bakery", run_id="order-1")
    scheduler.beats()
    schema = {"type": "integer", "minimum": 1}
    form = {"loaves": {"value": 10, "has_value": True, "schema": schema, "description": "How many?"}}
    with scheduler.database.begin() as connection:
        settings, now = scheduler.context.settings, scheduler.clock.now()
        ask(connection, settings, now, task="bake", subject="Bake?", params=form, multiple=True, seconds=60)
    return service


def test_the_inbox_is_read_answered_and_empty(asked: Service) -> None:
    steps = asked.api(api.TaskInstanceApi)
    (one,) = steps.get_hitl_details("~", "~", response_received=False).hitl_details
    assert (one.subject, one.options, one.multiple, one.response_received) == ("Bake?", ["yes", "no"], True, False)
    assert (one.task_instance.task_id, one.params["loaves"]["value"]) == ("bake", 10)
    assert steps.get_hitl_details("bakery", "order-1", subject_search="Sell").hitl_details == []
    body = models.UpdateHITLDetailPayload(chosen_options=["yes"], params_input={"loaves": 0})
    with pytest.raises(ApiException) as refused:
        steps.update_hitl_detail(*PLACE, body)
    assert (refused.value.status, "loaves" in refused.value.body) == (422, True)
    body.params_input = {"loaves": 3}
    given = steps.update_hitl_detail(*PLACE, body)
    assert (given.chosen_options, given.params_input, given.responded_by.name) == (["yes"], {"loaves": 3}, "admin")
    with pytest.raises(ApiException) as refused:
        steps.update_hitl_detail(*PLACE, body)
    assert refused.value.status == 409
    assert steps.get_hitl_details("~", "~", response_received=False).total_entries == 0
    (answered,) = steps.get_hitl_details("~", "~", responded_by_user_name=["admin"]).hitl_details
    assert answered.responded_by_user is not None
    assert (answered.responded_by_user.id, answered.chosen_options) == ("admin", ["yes"])
    assert steps.get_hitl_detail(*PLACE).response_received is True


def test_the_question_of_a_try_is_there_when_it_was_withdrawn(asked: Service) -> None:
    with asked.scheduler.database.begin() as connection:
        execute(connection, "UPDATE human_step SET withdrawn_at = asked_at")
    steps = asked.api(api.TaskInstanceApi)
    with pytest.raises(ApiException) as refused:
        steps.get_hitl_detail(*PLACE)
    assert refused.value.status == 404
    found = steps.get_hitl_detail_try_detail(*PLACE, try_number=1)
    assert (found.subject, found.task_instance.try_number) == ("Bake?", 1)
