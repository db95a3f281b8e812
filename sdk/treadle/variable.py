"""Variables, as DAG files and tasks read and write them.

A value is looked for in the environment (``TREADLE_VAR_<KEY>``), then with the supervisor of the running attempt,
which asks the server (or, in ``dag.test()``, the given files and dicts). Nothing is cached: a task sees a change at
its next read. Values that look secret are registered with the masker when they are fetched.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

from treadle.errors import NotInTaskError, VariableNotFoundError, VariableValueError
from treadle.runtime import current, masking

ENVIRONMENT_PREFIX: Final = "TREADLE_VAR_"

_NOT_SET: Final = object()


class Variable:
    """A named text, kept by the server, that tasks share."""

    @staticmethod
    def get(key: str, default: Any = _NOT_SET, deserialize_json: bool = False) -> Any:
        """Return the value of variable ``key``, or ``default`` where there is none.

        Raises:
            VariableNotFoundError: there is no such variable and no default was given.
            VariableValueError: ``deserialize_json`` was asked for and the text is not JSON.
        """
        text = find(key)
        if text is None:
            if default is _NOT_SET:
                raise VariableNotFoundError(key=key, environment=_in_environment(key), asker=current.asker())
            return default
        if not deserialize_json:
            return text
        try:
            return json.loads(text)
        except ValueError as error:
            raise VariableValueError(key=key, reason=str(error)) from None

    @staticmethod
    def set(key: str, value: Any, description: str | None = None, serialize_json: bool = False) -> None:
        """Store variable ``key``: ``value`` as text, or as JSON with ``serialize_json``."""
        text = json.dumps(value, indent=2) if serialize_json else str(value)
        masking.add_variable(key, text)
        _supervisor("Variable.set()").set_variable(key, text, description)

    @staticmethod
    def delete(key: str) -> None:
        """Delete variable ``key`` if it is there."""
        _supervisor("Variable.delete()").delete_variable(key)


def find(key: str) -> str | None:
    """Return the text of variable ``key``, or None if there is none."""
    text = current.given_variable(key)
    if text is None:
        text = os.environ.get(_in_environment(key))
    if text is None:
        asked = current.supervisor()
        text = asked.get_variable(key) if asked is not None else None
    if text is not None:
        masking.add_variable(key, text)
    return text


def _in_environment(key: str) -> str:
    return ENVIRONMENT_PREFIX + key.upper()


def _supervisor(what: str) -> Any:
    asked = current.supervisor()
    if asked is None:
        raise NotInTaskError(what)
    return asked
