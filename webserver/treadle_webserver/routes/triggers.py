"""The Execution API's part for triggerers: beats that renew a lease and bring triggers, and what the triggers brought.

A triggerer holds no database credential, only its token. A beat may wait for something new, so that a trigger is
running milliseconds after its task was deferred. What is reported twice counts once.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.concurrency import run_in_threadpool
from sqlalchemy import Connection

from treadle_metadata import awaited_callbacks, trigger_answers, trigger_events, trigger_logs, triggerers
from treadle_metadata.remote_logs.places import places_of
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.routes.execution import speak_version
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.triggers import (
    Beat,
    BeatShape,
    Happened,
    HappenedShape,
    Leaving,
    TriggerQuestion,
    TriggerShape,
)

router = APIRouter(
    prefix="/execution/v1/triggerers",
    tags=["Execution"],
    route_class=RetriedRoute,
    dependencies=[Depends(speak_version)],
)


@router.post("/beats")
async def beat(body: Beat, service: ServiceOf) -> BeatShape:
    """Renew a triggerer's lease, and give it what it is to run and to cancel; wait for that if there is nothing."""
    seen = service.trigger_calls.count
    answer = await run_in_threadpool(_beat, body, service)
    # What is owned is compared with what runs at this moment: that answer does not wait.
    if body.wait and not body.checks and not (answer["triggers"] or answer["cancelled"] or answer["excess"]):
        # Never for so long that its lease might end while we hold it.
        await service.trigger_calls.wait(seen, min(body.wait, service.settings.lease_seconds / 3))
        known = body.model_copy(update={"process_id": UUID(answer["process_id"])})
        answer = await run_in_threadpool(_beat, known, service)
    return answer


def _beat(body: Beat, service: Service) -> BeatShape:
    now, one = service.now(), body.triggerer()
    with service.database.begin() as connection:
        known = triggerers.renew(connection, one, now=now, lease_seconds=service.settings.lease_seconds)
        triggerers.take_from_dead(connection, now=now)
        room, excess = triggerers.share_of(connection, one, known, now=now)
        taken, files = triggerers.claim(connection, known, room if body.takes else 0, crypto=service.crypto)
        cancelled = triggerers.cancelled(connection, known)
        owned = triggerers.owned(connection, known) if body.checks else None
    new = {row["id"] for row in taken}
    return {
        "process_id": str(known),
        "token": service.trigger_calls.tokens.issue(now=now),
        "triggers": [cast("TriggerShape", {"problem": None} | row) for row in taken],
        "files": cast("dict[str, Any]", files),
        "cancelled": [cast("Any", row) for row in cancelled if row["id"] not in new],
        "excess": excess,
        "owned": owned,
    }


@router.post("/events")
def record(body: Happened, service: ServiceOf) -> HappenedShape:
    """Record what happened to triggers in one transaction. Their lines come first: the log of a task has one writer."""
    now = service.now()
    if body.logs:
        with service.database.begin() as connection:
            lines = [(one.id, one.text) for one in body.logs]
            follow = partial(service.sending.follow, is_whole=True)
            trigger_logs.append(connection, body.process_id, lines, places_of(service.settings), follow)
    events = [one.model_dump() for one in body.events]

    def counted(connection: Connection) -> set[int]:
        found = trigger_events.record(connection, body.process_id, events, crypto=service.crypto, now=now)
        triggerers.forget_cancelled(connection, body.process_id, body.cancelled)
        triggerers.give_back(connection, body.process_id, body.given_back)
        return found

    # After a deadlock this alone runs again, and not the whole request: the lines are written.
    return {"counted": sorted(service.database.run(counted))}


@router.post("/questions")
def answer(body: TriggerQuestion, service: ServiceOf) -> dict[str, Any]:
    """Answer a question of a trigger: connections, variables, the states of other tasks and runs."""
    op, args, crypto, now = body.op, body.args, service.crypto, service.now()
    with service.database.begin() as connection:
        if op in ("start_callback", "of_callback"):
            known = (body.process_id, body.id)
            return {"result": awaited_callbacks.answer(connection, *known, op, args, crypto=crypto, now=now)}
        asker = (body.id, body.process_id)
        return {"result": trigger_answers.answer(connection, op, args, crypto=crypto, asker=asker)}


@router.post("/leavings")
def leave(body: Leaving, service: ServiceOf) -> dict[str, Any]:
    """Free the triggers of a triggerer that stops; none of them is cancelled."""
    with service.database.begin() as connection:
        suspects, ending = body.suspects, body.ending
        triggerers.stop(connection, body.process_id, suspects=suspects, ending=ending, now=service.now())
    return {}
