"""Variables: list, one, create, change, delete. A value under a key that sounds secret is shown as ``***``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from treadle_metadata import audit
from treadle_metadata.errors import InvalidRequestError, NotFoundError
from treadle_metadata.queries.variables import list_variables
from treadle_metadata.resources import create_variable, delete_variable, require_variable, set_variable
from treadle_webserver.authorize import ActorOf
from treadle_webserver.parameters import Name, PageQuery, StrictBody, Text, totals
from treadle_webserver.retrying import RetriedRoute
from treadle_webserver.service import ServiceOf
from treadle_webserver.shapes.resources import VariableListShape, VariableShape

router = APIRouter(prefix="/api/v2/variables", tags=["Variable"], route_class=RetriedRoute)

UpdateMask = Annotated[list[Literal["value", "description"]] | None, Query(max_length=2)]


class VariableQuery(PageQuery):
    """Which variables."""

    variable_key_pattern: Text = None
    variable_key_prefix_pattern: Text = None


class VariableBody(StrictBody):
    """A variable; a value that is no text is stored as its JSON text."""

    key: str = Field(max_length=1000)
    value: Any
    description: str | None = None


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
def post_variable(body: VariableBody, actor: ActorOf, service: ServiceOf) -> VariableShape:
    """Create a variable."""
    with service.database.begin() as connection:
        create_variable(connection, body.key, _text(body.value), body.description, crypto=service.crypto)
        audit.record(
            connection, actor=actor.username, event="create_variable", detail={"name": body.key}, now=service.now()
        )
        return _shape(require_variable(connection, body.key, crypto=service.crypto))


@router.get("/{variable_key:path}")
def get_variable(variable_key: Name, service: ServiceOf) -> VariableShape:
    """Return one variable."""
    with service.database.begin() as connection:
        return _shape(require_variable(connection, variable_key, crypto=service.crypto))


@router.patch("/{variable_key:path}")
def patch_variable(
    variable_key: Name, body: VariableBody, actor: ActorOf, service: ServiceOf, update_mask: UpdateMask = None
) -> VariableShape:
    """Change a variable; its key stays."""
    if body.key != variable_key:
        raise InvalidRequestError("the key in the body must be the key in the address: a variable keeps its key")
    with service.database.begin() as connection:
        stored = require_variable(connection, variable_key, crypto=service.crypto)
        value = _text(body.value) if update_mask is None or "value" in update_mask else stored["value"]
        described = "description" in body.model_fields_set and (update_mask is None or "description" in update_mask)
        description = body.description if described else None
        set_variable(connection, variable_key, value, description, crypto=service.crypto)
        audit.record(
            connection,
            actor=actor.username,
            event="patch_variable",
            detail={"name": variable_key},
            now=service.now(),
        )
        return _shape(require_variable(connection, variable_key, crypto=service.crypto))


@router.delete("/{variable_key:path}", status_code=204, response_class=Response)
def delete_one_variable(variable_key: Name, actor: ActorOf, service: ServiceOf) -> None:
    """Delete a variable."""
    with service.database.begin() as connection:
        if not delete_variable(connection, variable_key):
            raise NotFoundError("variable", variable_key)
        audit.record(
            connection,
            actor=actor.username,
            event="delete_variable",
            detail={"name": variable_key},
            now=service.now(),
        )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shape(row: Mapping[str, Any]) -> VariableShape:
    value = audit.masked({row["key"]: row["value"]})[row["key"]]
    return {"key": row["key"], "value": value, "description": row["description"], "is_encrypted": True}
