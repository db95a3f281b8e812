"""Edits of many things in one request: each on its own, with a report of what succeeded and what did not (case E15).

Called by the ``PATCH`` of lists. Every entity is a savepoint of the request's transaction: one that is refused leaves
nothing behind and stops no other. A crash in the middle leaves nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import Field
from sqlalchemy import Connection
from typing_extensions import TypedDict

from treadle_metadata.errors import ConflictError, InvalidRequestError, MetadataError, NotFoundError
from treadle_webserver.errors import status_of
from treadle_webserver.parameters import StrictBody

MOST_ENTITIES: Final = 1000
Entity = TypeVar("Entity")
Mask = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=20)] | None


class CreateAction(StrictBody, Generic[Entity]):
    """Things to make; one that is there already is an error, left alone, or replaced."""

    action: Literal["create"]
    entities: Annotated[list[Entity], Field(max_length=MOST_ENTITIES)]
    action_on_existence: Literal["fail", "skip", "overwrite"] = "fail"


class UpdateAction(StrictBody, Generic[Entity]):
    """Things to change; one that is not there is an error, or passed over."""

    action: Literal["update"]
    entities: Annotated[list[Entity], Field(max_length=MOST_ENTITIES)]
    update_mask: Mask = None
    action_on_non_existence: Literal["fail", "skip"] = "fail"


class DeleteAction(StrictBody, Generic[Entity]):
    """Things to delete, by name or whole; one that is not there is an error, or passed over."""

    action: Literal["delete"]
    entities: Annotated[list[Annotated[str, Field(max_length=1000)] | Entity], Field(max_length=MOST_ENTITIES)]
    action_on_non_existence: Literal["fail", "skip"] = "fail"


class BulkBody(StrictBody, Generic[Entity]):
    """Actions, done in their order."""

    actions: Annotated[
        list[
            Annotated[CreateAction[Entity] | UpdateAction[Entity] | DeleteAction[Entity], Field(discriminator="action")]
        ],
        Field(max_length=10),
    ]


class BulkErrorShape(TypedDict):
    """What was refused of one thing, and the status that it would have had alone. ``key`` is Treadle's own."""

    key: str
    error: str
    status_code: int


class BulkActionShape(TypedDict):
    """The keys of what an action did, and what it was refused."""

    success: list[str]
    errors: list[BulkErrorShape]


class BulkShape(TypedDict):
    """The report, by action; null where nothing of the kind was asked for."""

    create: BulkActionShape | None
    update: BulkActionShape | None
    delete: BulkActionShape | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts(Generic[Entity]):
    """What can be done to things of one kind; an act that is None cannot. Each raises the errors of a single edit."""

    key: Callable[[Entity], str]
    create: Callable[[Connection, Entity], object] | None = None
    update: Callable[[Connection, Entity, Mask], None] | None = None
    delete: Callable[[Connection, str | Entity], None] | None = None


def carry_out(connection: Connection, body: BulkBody[Entity], acts: Acts[Entity]) -> BulkShape:
    """Do what ``body`` says, each thing in a savepoint, and return the report."""
    report: BulkShape = {"create": None, "update": None, "delete": None}
    for action in body.actions:
        told = report[action.action] or {"success": [], "errors": []}
        report[action.action] = told
        for key, act, passed_over in _steps(action, acts):
            _attempt(connection, told, key, act, passed_over)
    return report


Act = Callable[[Connection], None]


def _steps(action: Any, acts: Acts[Entity]) -> Iterable[tuple[str, Act, type[MetadataError] | None]]:
    """Yield the key of each thing, what is to be done to it, and which refusal of that is passed over."""
    for entity in action.entities:
        key = entity if isinstance(entity, str) else acts.key(entity)
        match action:
            case CreateAction(action_on_existence=on_existence):
                yield key, _creating(acts, entity, on_existence), ConflictError if on_existence == "skip" else None
            case UpdateAction(update_mask=mask, action_on_non_existence=on_absence):
                yield key, _changing(acts, entity, mask), NotFoundError if on_absence == "skip" else None
            case DeleteAction(action_on_non_existence=on_absence):
                yield key, _deleting(acts, entity), NotFoundError if on_absence == "skip" else None


def _attempt(
    connection: Connection, told: BulkActionShape, key: str, act: Act, passed_over: type[MetadataError] | None
) -> None:
    try:
        with connection.begin_nested():
            act(connection)
    except MetadataError as error:
        if passed_over is None or not isinstance(error, passed_over):
            told["errors"].append({"key": key, "error": str(error), "status_code": status_of(error)})
    else:
        told["success"].append(key)


def _creating(acts: Acts[Entity], entity: Entity, on_existence: str) -> Act:
    def act(connection: Connection) -> None:
        if acts.create is None:
            raise _impossible("created")
        try:
            with connection.begin_nested():
                acts.create(connection, entity)
        except ConflictError:
            if on_existence != "overwrite" or acts.update is None:
                raise
            acts.update(connection, entity, None)

    return act


def _changing(acts: Acts[Entity], entity: Entity, mask: Mask) -> Act:
    def act(connection: Connection) -> None:
        if acts.update is None:
            raise _impossible("changed")
        acts.update(connection, entity, mask)

    return act


def _deleting(acts: Acts[Entity], entity: str | Entity) -> Act:
    def act(connection: Connection) -> None:
        if acts.delete is None:
            raise _impossible("deleted")
        acts.delete(connection, entity)

    return act


def _impossible(what: str) -> InvalidRequestError:
    return InvalidRequestError(f"things of this kind cannot be {what} in bulk")
