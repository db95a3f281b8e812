"""What triggerers send to the Execution API, and what they get back."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from treadle_metadata.triggerers import Triggerer


class Beat(BaseModel):
    """A triggerer is alive. ``held``: the weight of what it runs. ``wait``: how long it waits for something new."""

    process_id: UUID | None = None
    hostname: str = Field(max_length=250)
    pid: int
    capacity: int = Field(ge=1, lt=2**31)
    held: int = Field(0, ge=0, lt=2**31)
    trouble: str | None = Field(None, max_length=2000)
    trouble_of: int | None = Field(None, ge=0, lt=2**63)
    takes: bool = True
    checks: bool = False
    wait: float = Field(0, ge=0, le=10)

    def triggerer(self) -> Triggerer:
        """Return what it says of itself."""
        place = (self.process_id, self.hostname, self.pid)
        return Triggerer(*place, self.capacity, self.held, self.trouble, self.trouble_of)


class TriggerShape(TypedDict):
    """A trigger to run, or, with ``cancelled_for``, to cancel. ``problem``: why its arguments cannot be read."""

    id: int
    classpath: str
    kwargs: str | None
    problem: str | None
    weight: int
    version_id: int | None
    cancelled_for: str | None
    is_watcher: bool
    task_instance_id: int | None
    attempt_id: str | None


class FileShape(TypedDict):
    """The DAG file of a version, with its text."""

    file: str
    file_hash: str
    source: str | None


class CancelledShape(TypedDict):
    """A trigger of the triggerer's for which nobody waits any more."""

    id: int
    cancelled_for: str


class BeatShape(TypedDict):
    """``excess``: the weight to give back. ``owned``: if it was asked for, all that the triggerer is to run."""

    process_id: str
    token: str
    triggers: list[TriggerShape]
    files: dict[str, FileShape]
    cancelled: list[CancelledShape]
    excess: int
    owned: list[int] | None


class PushedShape(BaseModel):
    """An XCom that a trigger pushes for the task that it ends."""

    key: str = Field(max_length=250)
    value: str
    length: int | None = None


class TriggerEvent(BaseModel):
    """What a trigger brought (``treadle_metadata.trigger_events.Event``)."""

    id: int
    kind: Literal["event", "end", "failed", "trouble", "well"]
    payload: str = "null"
    plain: Any = None
    outcome: Literal["success", "failed", "skipped"] = "failed"
    reason: str = ""
    xcoms: list[PushedShape] = []
    error: str = ""
    traceback: str = ""


class LogLines(BaseModel):
    """Lines of JSON for the log of the task that waits for a trigger."""

    id: int
    text: str


class Happened(BaseModel):
    """What gathered at a triggerer since its last report."""

    process_id: UUID
    events: list[TriggerEvent] = []
    logs: list[LogLines] = []
    given_back: list[int] = []
    cancelled: list[int] = []


class HappenedShape(TypedDict):
    """The triggers whose events counted; the others' tasks wait no more."""

    counted: list[int]


class Leaving(BaseModel):
    """A triggerer stops in order. ``suspects``: the triggers in whose code its loop died; ``ending``: how."""

    process_id: UUID
    suspects: list[int] = Field([], max_length=100)
    ending: str = Field("", max_length=200)


class TriggerQuestion(BaseModel):
    """A question of a trigger."""

    process_id: UUID
    id: int
    op: str = Field(max_length=100)
    args: dict[str, Any] = {}
