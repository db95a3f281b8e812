"""Variables: list, one, create, change, delete, and many of these at once.

A value under a key that sounds secret is shown as ``***``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field
from sqlalchemy import Connection

from treadle_metadata import audit
from treadle_metadata.errors import InvalidRequestError, NotFoundError
from treadle_metadata.queries.variables import list_variables
from treadle_metadata.resources import create_variable, delete_variable, require_variable, set_variable
from treadle_metadata.resources.locking import lock_row
from treadle_webserver.authorize import Actor, ActorOf
from treadle_webserver.bulk import Acts, BulkBody, BulkShape, Mask, carry_out
from treadle_webserver.etags import IfMatch, require_match, tag
from treadle_webserver.parameters import Name, PageQuery, StrictBody, TeamName, Text, totals
from treadle_webserver.permissions import Permission
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import Service, ServiceOf
from treadle_webserver.shapes.resources import VariableListShape, VariableShape

router = APIRouter(prefix="/api/v2/variables", tags=["Variable"], route_class=RetriedRoute)

UpdateMask = Annotated[list[Literal["key", "value", "description"]] | None, Query(max_length=3)]


class VariableQuery(PageQuery):
    """Which variables."""

    variable_key_pattern: Text = None
    variable_key_prefix_pattern: Text = None


class VariableBody(StrictBody):
    """A variable; a value that is no text is stored as its JSON text."""

    key: str = Field(max_length=1000)
    value: Any
    description: str | None = None
    team_name: Text = None


@router.get("")
def get_variables(query: Annotated[VariableQuery, Query()], service: ServiceOf) -> VariableListShape:
    """List variables."""
    with service.database.begin() as connection:
        page = list_variables(
            connection, query.page, pattern=query.variable_key_pattern, prefix=query.variable_key_prefix_pattern
        )
    plain = [row | {"value": service.crypto.decrypt(row["value"], f"variable {row['key']!r}")} for row in page.rows]
    return {"variables": [_shape(row) for row in plain], **totals(page)}


@router.post("", status_code=201)
def post_variable(body: VariableBody, actor: ActorOf, service: ServiceOf, response: Response) -> VariableShape:
    """Create a variable."""
    with service.database.begin() as connection:
        team = _Editor(service, actor).create(connection, body)
        return _tagged(response, service, require_variable(connection, body.key, crypto=service.crypto, team=team))


@router.patch("")
def bulk_variables(body: BulkBody[VariableBody], actor: ActorOf, service: ServiceOf) -> BulkShape:
    """Create, change and delete variables, each on its own; the answer tells of each."""
    editor = _Editor(service, actor)
    acts: Acts[VariableBody] = Acts(
        key=lambda one: one.key, create=editor.create, update=editor.update, delete=editor.delete
    )
    with service.database.begin() as connection:
        return carry_out(connection, body, acts)


@router.get("/{variable_key:path}")
def get_variable(
    variable_key: Name, service: ServiceOf, response: Response, team_name: TeamName = None
) -> VariableShape:
    """Return one variable."""
    with service.database.begin() as connection:
        found = require_variable(connection, variable_key, crypto=service.crypto, team=team_name)
        return _tagged(response, service, found)


@router.patch("/{variable_key:path}")
def patch_variable(
    variable_key: Name,
    body: VariableBody,
    actor: ActorOf,
    service: ServiceOf,
    response: Response,
    update_mask: UpdateMask = None,
    if_match: IfMatch = None,
) -> VariableShape:
    """Change a variable; its key stays."""
    if body.key != variable_key:
        raise InvalidRequestError("the key in the body must be the key in the address: a variable keeps its key")
    with service.database.begin() as connection:
        _Editor(service, actor).update(connection, body, update_mask, if_match)
        found = require_variable(connection, variable_key, crypto=service.crypto, team=body.team_name)
        return _tagged(response, service, found)


@router.delete("/{variable_key:path}", status_code=204, response_class=Response, name="delete_variable")
def delete_one_variable(variable_key: Name, actor: ActorOf, service: ServiceOf, team_name: TeamName = None) -> None:
    """Delete a variable."""
    with service.database.begin() as connection:
        _Editor(service, actor).delete(connection, variable_key, team_name)


@dataclass(frozen=True, slots=True)
class _Editor:
    """Edits variables for somebody, and records it, without the values."""

    service: Service
    actor: Actor

    def create(self, connection: Connection, body: VariableBody) -> str:
        """Create a variable, and return whose it is."""
        team = self.actor.team(connection, Permission.EDIT_VARIABLES, body.team_name)
        text = _text(body.value)
        create_variable(connection, body.key, text, body.description, crypto=self.service.crypto, team=team)
        after = {"value": audit.MASK, "description": body.description}
        self._record(connection, "create_variable", body.key, team, after=after)
        return team

    def update(
        self,
        connection: Connection,
        body: VariableBody,
        mask: Collection[str] | Mask,
        if_match: str | None = None,
    ) -> None:
        """Change the value and, if it is given, the description of a variable."""
        lock_row(connection, "variable", body.key)
        stored = require_variable(connection, body.key, crypto=self.service.crypto, team=body.team_name)
        require_match(if_match, "variable", body.key, *_facts(self.service, stored))
        value = _text(body.value) if mask is None or "value" in mask else stored["value"]
        described = "description" in body.model_fields_set and (mask is None or "description" in mask)
        description = body.description if described else None
        set_variable(connection, body.key, value, description, crypto=self.service.crypto, team=stored["team"])
        # Not the values, only that they differ.
        before = {"value": audit.MASK, "description": stored["description"]}
        after = {
            "value": audit.MASK if value == stored["value"] else f"{audit.MASK} (changed)",
            "description": stored["description"] if description is None else description,
        }
        self._record(connection, "patch_variable", body.key, stored["team"], before=before, after=after)

    def delete(self, connection: Connection, one: str | VariableBody, team: str | None = None) -> None:
        """Delete a variable."""
        key, team = (one, team) if isinstance(one, str) else (one.key, one.team_name)
        stored = require_variable(connection, key, crypto=self.service.crypto, team=team)
        if not delete_variable(connection, key, team=stored["team"]):
            raise NotFoundError("variable", key)
        before = {"value": audit.MASK, "description": stored["description"]}
        self._record(connection, "delete_variable", key, stored["team"], before=before)

    def _record(
        self,
        connection: Connection,
        event: str,
        key: str,
        team: str,
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        audit.record(
            connection,
            actor=self.actor.username,
            event=event,
            subject=key,
            before=before,
            after=after,
            detail={"team": team} if team else None,
            now=self.service.now(),
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _facts(service: Service, row: Mapping[str, Any]) -> tuple[object, ...]:
    # With a secret among them: else a hidden value could be guessed from its tag.
    return service.settings.jwt_secret, row["team"], row["key"], row["value"], row["description"]


def _tagged(response: Response, service: Service, row: Mapping[str, Any]) -> VariableShape:
    tag(response, *_facts(service, row))
    return _shape(row)


def _shape(row: Mapping[str, Any]) -> VariableShape:
    value = audit.masked({row["key"]: row["value"]})[row["key"]]
    return {
        "key": row["key"],
        "value": value,
        "description": row["description"],
        "is_encrypted": True,
        "team_name": row["team"] or None,
    }
