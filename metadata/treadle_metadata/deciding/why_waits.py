"""Why what waits waits: sensors, questions to people, and pools that are full of waiting sensors. Pure.

The reading is done by ``treadle_metadata.queries.waits``; asked by ``queries.why`` and by the answers about pools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from treadle_metadata.deciding.reasons import Explanation, Reason
from treadle_metadata.deciding.why_task import InstanceFacts
from treadle_metadata.deciding.wording import ahead, counted, instant, names
from treadle_metadata.errors import shown

_ADVICE: Final = (
    'Nothing else of the pool can start before one of them is done: give them mode="reschedule" or "deferrable", '
    "or a pool of their own"
)


@dataclass(frozen=True, slots=True)
class SensorFacts:
    """A sensor's wait as its row has it; ``pokes`` are counted by attempts."""

    mode: str
    began_at: datetime
    gives_up_at: datetime
    pokes: int


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """A question that waits for an answer."""

    subject: str
    options: Sequence[str]
    assignees: Sequence[str]
    due_at: datetime | None
    has_defaults: bool


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A durable step that waits: ``kind`` is ``sleep`` or ``awakeable``."""

    kind: str
    name: str
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class PoolOfSensors:
    """The sensors that wait in the slots of a pool, in mode ``poke``: the first of ``total``, and the slots of all."""

    slots: int
    sensors: Sequence[str]
    total: int


def asking(one: InstanceFacts, question: QuestionFacts, now: datetime) -> Explanation:
    """Return that the instance waits for a person, for which, and what becomes of it without an answer."""
    who = f" by {names(list(question.assignees))}" if question.assignees else ""
    sentence = f"{one.name} waits for an answer{who} to {shown(question.subject)} ({', '.join(question.options)})"
    if question.due_at is not None:
        then = "then its defaults are the answer" if question.has_defaults else "then it fails"
        sentence += f" until {ahead(question.due_at, now)}; {then}"
    return Explanation(Reason.ANSWER, sentence, one.blocker, question.due_at)


def looking_again(found: Explanation, wait: SensorFacts) -> Explanation:
    """Return the explanation of a sensor between two pokes, with how long it has waited, and will."""
    sentence = (
        f"{found.sentence}; a sensor that waits since {instant(wait.began_at)} ({counted(wait.pokes, 'poke')}) "
        f"and gives up at {instant(wait.gives_up_at)}"
    )
    return replace(found, sentence=sentence)


def suspended(one: InstanceFacts, step: StepFacts, found: Explanation, now: datetime) -> Explanation:
    """Return the explanation of an instance that a durable step has suspended, with what the step waits for."""
    until = "" if step.due_at is None else f" until {ahead(step.due_at, now)}"
    if step.kind == "awakeable":
        at_most = f",{until} at most" if until else ""
        sentence = f"{one.name} waits for whoever has the token of its step {shown(step.name)} to post it{at_most}"
    else:
        sentence = f"{one.name} sleeps in its step {shown(step.name)}{until}"
    return replace(found, sentence=sentence, until=step.due_at)


def poking(found: Explanation, wait: SensorFacts) -> Explanation:
    """Return the explanation of a sensor that runs, and waits in its slot."""
    sentence = (
        f"{found.sentence}; a sensor that waits in its slot since {instant(wait.began_at)} "
        f"and gives up at {instant(wait.gives_up_at)}"
    )
    return replace(found, sentence=sentence)


def stuck_pool(pool: str, slots: int | None, occupied: int, held: PoolOfSensors | None) -> str | None:
    """Return that waiting sensors hold all slots of a pool, if so; ``slots`` None means that it has no limit."""
    if held is None or slots is None or slots <= 0 or occupied < slots or held.slots < occupied:
        return None
    return (
        f"all {counted(slots, 'slot')} of pool {shown(pool)} are held by sensors that wait in mode poke "
        f"({names(list(held.sensors), held.total)}). {_ADVICE}"
    )


def held_by_sensors(found: Explanation) -> Explanation:
    """Return the explanation of an instance whose pool has nothing but waiting sensors in its slots."""
    sentence = f"{found.sentence}: sensors that wait in mode poke. {_ADVICE}"
    return replace(found, reason=Reason.SENSORS, sentence=sentence)
