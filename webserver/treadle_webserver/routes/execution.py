"""The Execution API: what runner hosts on worker machines report and ask, each attempt with its own token.

The same reports and questions reach the database from the local executor without HTTP; here each report is first
matched with its token, and one that names another attempt is refused alone (case F18). A batch is one transaction: a
killed server leaves all or nothing of it, and the host sends it again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Depends, Header, HTTPException, Response

from treadle_executors.batches import VERSION, VERSION_HEADER, Batch, ExecutionUnavailable
from treadle_executors.execution_api import DatabaseExecution
from treadle_metadata import attempt_logs
from treadle_metadata.attempt_tokens import AttemptClaim, AttemptTokenError, Scope
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.remote_logs.places import LogPlaces, places_of, size_of
from treadle_webserver import worker_clocks
from treadle_webserver.authorize import ClaimOf
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.execution import (
    AnswersShape,
    Item,
    LogPart,
    Logs,
    LogSizesShape,
    Question,
    RefusalShape,
    Reports,
    ResultShape,
    StartShape,
)

_LOG = logging.getLogger(__name__)
_EITHER: Final = (Scope.QUEUED, Scope.RUNNING)


async def speak_version(
    response: Response, treadle_execution_version: Annotated[int | None, Header(ge=1)] = None
) -> None:
    """Name the server's version, and refuse a worker that is newer than the server."""
    response.headers[VERSION_HEADER] = str(VERSION)
    if treadle_execution_version is not None and treadle_execution_version > VERSION:
        raise HTTPException(
            400,
            f"the worker speaks version {treadle_execution_version} of the Execution API, this server knows versions "
            f"up to {VERSION}; upgrade the server before its workers",
            {VERSION_HEADER: str(VERSION)},
        )


router = APIRouter(
    prefix="/execution/v1", tags=["Execution"], route_class=RetriedRoute, dependencies=[Depends(speak_version)]
)


@router.post("/reports")
def record(reports: Reports, service: ServiceOf) -> AnswersShape:
    """Record starts, finishes and heartbeats in one transaction. A report with a wrong token is refused alone."""
    refused: list[RefusalShape] = []
    starts = _admitted(reports.starts, service, (Scope.QUEUED,), refused)
    finishes = _admitted(reports.finishes, service, _EITHER, refused)
    heartbeats = _admitted(reports.heartbeats, service, _EITHER, refused)
    batch = Batch(starts=_plain(starts), finishes=_plain(finishes), heartbeats=_plain(heartbeats))
    now = service.now()
    try:
        ahead = worker_clocks.difference(reports.sent_at, now)
        told: list[Any] = [*batch.starts, *batch.finishes]
        worker_clocks.correct(told, ahead, now=now)
        answers = _execution(service).record(batch)
    except ExecutionUnavailable as error:
        raise _away() from error
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidRequestError(f"a report lacks something or holds a wrong value: {error!r:.200}") from error
    began = {one["attempt_id"] for one in answers.starts if one["accepted"]}
    fresh = [AttemptClaim(item.attempt, Scope.RUNNING) for item, _ in starts if str(item.attempt_id) in began]
    fresh += [claim for item, claim in heartbeats if str(item.attempt_id) in answers.ours]
    return {
        "starts": [cast("StartShape", dict(one)) for one in answers.starts],
        "accepted": sorted(answers.accepted),
        "ours": sorted(answers.ours),
        "tokens": {str(one.attempt.attempt_id): service.attempt_tokens.issue(one, now=service.now()) for one in fresh},
        "refused": refused,
    }


@router.post("/questions")
def answer(question: Question, claim: ClaimOf, service: ServiceOf) -> ResultShape:
    """Answer a question of a running attempt: XComs, variables, connections, facts of earlier runs."""
    if claim.scope is not Scope.RUNNING:
        raise HTTPException(403, "the token is for an attempt that is queued; only a running attempt may ask")
    attempt = claim.attempt
    asked: Any = {
        "id": 0,
        "attempt_id": str(attempt.attempt_id),
        "task_instance_id": attempt.task_instance_id,
        "month": attempt.month,
        "op": question.op,
        "args": question.args,
    }
    try:
        return {"result": _execution(service).answer(asked)}
    except ExecutionUnavailable as error:
        raise _away() from error


@router.post("/logs")
def append_logs(logs: Logs, service: ServiceOf) -> LogSizesShape:
    """Write parts of several attempts' logs, each at its byte offset; say how much of each the server has then.

    A part that is sent again changes nothing, and one that begins beyond the end is not written, so a worker goes on
    from the size that it is told, after a crash on either side. Allowed until the token expires: the last lines come
    after the attempt's end.
    """
    refused: list[RefusalShape] = []
    claims: list[tuple[LogPart, AttemptRef]] = []
    for part in logs.parts:
        try:
            claims.append((part, service.attempt_tokens.read(part.token, _EITHER, now=service.now()).attempt))
        except AttemptTokenError as error:
            refused.append({"attempt_id": str(part.attempt_id), "reason": str(error)})
    places = places_of(service.settings)
    with service.database.begin() as connection:
        targets = attempt_logs.targets(connection, [attempt for _, attempt in claims], places.folder)
    sizes: dict[str, int] = {}
    for part, attempt in claims:
        target = targets.get(attempt.attempt_id) if attempt.attempt_id == part.attempt_id else None
        if target is None:
            reason = "there is no such attempt, or the token is another's"
            refused.append({"attempt_id": str(part.attempt_id), "reason": reason})
        else:
            service.sending.follow(str(part.attempt_id), target.stored, target.month, is_whole=True)
            sizes[str(part.attempt_id)] = _received(places, target, part)
    return {"sizes": sizes, "refused": refused}


def _received(places: LogPlaces, target: attempt_logs.Target, part: LogPart) -> int:
    """Write a part; one for which there is no room now is sent again by the worker, which keeps it until then."""
    try:
        return attempt_logs.receive_part(places, target, part.offset, part.data)
    except OSError as error:
        _LOG.error("no room for logs of worker machines: %s: %s", target.path, error.strerror or error)
        return size_of(target.path)


def _execution(service: Service) -> DatabaseExecution:
    return DatabaseExecution(service.database, service.settings, service.clock, notifies=True)


def _plain(admitted: Sequence[tuple[Item, AttemptClaim]]) -> list[Any]:
    return [item.report() for item, _ in admitted]


def _admitted(
    items: Sequence[Item], service: Service, needed: Sequence[Scope], refused: list[RefusalShape]
) -> list[tuple[Item, AttemptClaim]]:
    """Return the items whose token is theirs, with what it says; the others are entered in ``refused``."""
    admitted = []
    for item in items:
        try:
            claim = service.attempt_tokens.read(item.token, needed, now=service.now())
            if claim.attempt != item.attempt:
                raise AttemptTokenError("the token is another attempt's")
        except AttemptTokenError as error:
            refused.append({"attempt_id": str(item.attempt_id), "reason": str(error)})
        else:
            admitted.append((item, claim))
    return admitted


def _away() -> HTTPException:
    return HTTPException(503, "the metadata database does not answer; try again", {"Retry-After": "1"})
