"""What a deferred task instance waits for, as the official client reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from airflow_client.client.models.job_response import JobResponse
from airflow_client.client.models.trigger_response import TriggerResponse

from treadle_webserver.shapes.runs import wait_shapes

NOW = datetime(2026, 1, 14, tzinfo=UTC)
TRIGGERER = {
    "id": UUID(int=7),
    "kind": "triggerer",
    "started_at": NOW,
    "stopped_at": None,
    "heartbeat_at": NOW,
    "executors": None,
    "hostname": "here",
    "state": "running",
}
WAIT = {"trigger_id": 3, "classpath": "somewhere.Trigger", "created_at": NOW}


def test_a_wait_is_a_trigger_and_a_job_of_its_triggerer() -> None:
    trigger, job = wait_shapes({**WAIT, **TRIGGERER})
    told = TriggerResponse.from_dict(dict(trigger or {}))
    assert told is not None
    assert (told.id, told.classpath, told.kwargs, told.triggerer_id) == (3, "somewhere.Trigger", "***", 7)
    runs = JobResponse.from_dict(dict(job or {}))
    assert runs is not None
    assert (runs.id, runs.job_type, runs.state, runs.hostname) == (7, "TriggererJob", "running", "here")


def test_a_trigger_that_nobody_runs_has_no_job_and_what_does_not_wait_has_neither() -> None:
    trigger, job = wait_shapes({**WAIT, **dict.fromkeys(TRIGGERER)})
    assert (trigger and trigger["triggerer_id"], job) == (None, None)
    assert wait_shapes(None) == (None, None)
