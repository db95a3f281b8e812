"""What runner hosts send to the Execution API, and what they get back. Unknown fields of a report are passed on."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, Base64Bytes, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from treadle_metadata.identifiers import AttemptRef


class Item(BaseModel):
    """A report: which attempt it is of, the attempt's token, and what the kind of report carries beside."""

    model_config = ConfigDict(extra="allow")

    attempt_id: UUID
    task_instance_id: int
    month: date
    token: str

    @property
    def attempt(self) -> AttemptRef:
        """The attempt that the report says it is of."""
        return AttemptRef(self.attempt_id, self.task_instance_id, self.month)

    def report(self) -> dict[str, Any]:
        """Return the report as the runner host made it (``treadle_worker.protocol``)."""
        return self.model_dump(exclude={"token"}) | {"attempt_id": str(self.attempt_id)}


class StartItem(Item):
    """The attempt is about to run user code on this machine."""

    hostname: str


class FinishItem(Item):
    """The attempt is over."""

    outcome: str
    ended_at: AwareDatetime
    xcoms: list[dict[str, Any]]


class Reports(BaseModel):
    """What gathered at a host since its last request. ``sent_at``: what time the worker has."""

    sent_at: AwareDatetime | None = None
    starts: list[StartItem] = []
    finishes: list[FinishItem] = []
    heartbeats: list[Item] = []


class StartShape(TypedDict):
    """Whether an attempt may run its code, and why not."""

    attempt_id: str
    accepted: bool
    reason: str


class RefusalShape(TypedDict):
    """A report whose token is no token, or not its attempt's."""

    attempt_id: str
    reason: str


class AnswersShape(TypedDict):
    """``accepted``: finishes that changed something. ``ours``: attempts that go on. ``tokens``: what to use next."""

    starts: list[StartShape]
    accepted: list[str]
    ours: list[str]
    tokens: dict[str, str]
    refused: list[RefusalShape]


class Question(BaseModel):
    """A question of a task child (``treadle_worker.protocol.Request``)."""

    op: str
    args: dict[str, Any] = {}


class ResultShape(TypedDict):
    """The answer to a question."""

    result: Any


class LogPart(BaseModel):
    """A part of an attempt's log, in base64; without data it only asks for the size."""

    attempt_id: UUID
    token: str
    offset: int = Field(0, ge=0, lt=2**63)
    data: Base64Bytes = b""


class Logs(BaseModel):
    """Parts of several attempts' logs."""

    parts: list[LogPart]


class LogSizesShape(TypedDict):
    """How many bytes of each attempt's log the server has."""

    sizes: dict[str, int]
    refused: list[RefusalShape]
