"""Answers a task's questions from memory, for ``dag.test()`` and ``tasks test``: no server, no database (case G12).

Connections and variables come from dicts, files and the environment, in this order; a value that a task sets is seen
by the tasks after it and gone afterwards.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from treadle import xcom
from treadle.connections import Connection
from treadle.connections import read as read_connection
from treadle.durable.in_memory import InMemoryJournals
from treadle.errors import SourceFileError
from treadle.runtime import current
from treadle.runtime.in_memory_waits import InMemoryWaits
from treadle.runtime.lazy_results import elements_of
from treadle.runtime.supervisor import AssetEventQuestion, XComFound, XComQuestion
from treadle.runtime.task_instance import UNMAPPED


class LocalSupervisor(InMemoryJournals, InMemoryWaits):
    """Answers one test's questions (``treadle.runtime.supervisor.Supervisor``)."""

    def __init__(self, variables: Mapping[str, str], connections: Mapping[str, Mapping[str, Any]]) -> None:
        InMemoryJournals.__init__(self)
        InMemoryWaits.__init__(self)
        self._variables = dict(variables)
        self._connections = dict(connections)
        self._xcoms: dict[tuple[str, str], dict[int, str]] = {}
        self._instances: dict[str, int] = {}
        self.asset_events: list[dict[str, Any]] = []
        """What the test's tasks emitted so far."""
        self.triggering: list[dict[str, Any]] = []
        self._apart: tuple[str, Sequence[Any] | None] = ("", None)
        """The text that was last taken apart, and its elements: instances of a mapped task ask for one each."""

    def given(self) -> AbstractContextManager[None]:
        """Return the context in which this test's values come before those of the environment."""
        return current.given(self._variables, self._connections)

    def keep(self, task_id: str, map_index: int, xcoms: Sequence[Mapping[str, Any]]) -> None:
        """Keep what an attempt pushed, in place of what the try before it pushed."""
        for (pushed_by, _), found in self._xcoms.items():
            if pushed_by == task_id:
                found.pop(map_index, None)
        for one in xcoms:
            self._xcoms.setdefault((task_id, one["key"]), {})[map_index] = one["value"]

    def get_xcoms(self, questions: Sequence[XComQuestion]) -> list[list[XComFound]]:
        """Return, for each question, what was found, in index order; of other runs and DAGs there is nothing."""
        return [self._found(one) for one in questions]

    def _found(self, question: XComQuestion) -> list[XComFound]:
        if question.dag_id is not None or question.run_id is not None:
            return []
        if question.ask == "length":
            length = self.length(question.task_id, question.key)
            return [] if length is None else [XComFound(UNMAPPED, str(length))]
        stored = self._xcoms.get((question.task_id, question.key), {})
        wanted = sorted(stored) if question.map_indexes is None else question.map_indexes
        there = [index for index in wanted if index in stored]
        if question.ask == "count":
            return [XComFound(UNMAPPED, str(len(there)))]
        end = None if question.limit is None else question.offset + question.limit
        texts = [(index, self._text(stored[index], question.item)) for index in there[question.offset : end]]
        return [XComFound(index, text) for index, text in texts if text is not None]

    def _text(self, text: str, item: int | None) -> str | None:
        if item is None:
            return text
        if self._apart[0] != text:
            self._apart = (text, elements_of(xcom.loads(text)))
        elements = self._apart[1]
        return None if elements is None or item >= len(elements) else xcom.dumps(elements[item])[0]

    def ran(self, task_id: str, instances: int) -> None:
        """Remember how many instances a mapped task has."""
        self._instances[task_id] = instances

    def length(self, task_id: str, key: str) -> int | None:
        """Return how many instances a task mapped over this result has; None if it is no list or dict."""
        if task_id in self._instances:
            return self._instances[task_id]
        text = self._xcoms.get((task_id, key), {}).get(UNMAPPED)
        elements = None if text is None else elements_of(xcom.loads(text))
        return None if elements is None else len(elements)

    def get_variable(self, key: str) -> str | None:
        """Return a variable's text, or None if there is none."""
        return self._variables.get(key)

    def set_variable(self, key: str, value: str, description: str | None) -> None:  # noqa: ARG002 - the contract's
        """Keep a variable for the rest of the test."""
        self._variables[key] = value

    def delete_variable(self, key: str) -> None:
        """Forget a variable, if it is there."""
        self._variables.pop(key, None)

    def get_connection(self, conn_id: str) -> dict[str, Any] | None:
        """Return a connection's fields, or None if there is none."""
        found = self._connections.get(conn_id)
        return None if found is None else dict(found)

    def take_callbacks(self) -> bool:
        """Agree: in a test there is nobody else."""
        return True

    def get_previous_success(self) -> dict[str, str | None]:
        """Return nothing: a test has no run before it."""
        return {"data_interval_start": None, "data_interval_end": None, "start_date": None, "end_date": None}

    def get_asset(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return an asset that this test has seen an event of, or None."""
        return next((one for one in reversed(self._events()) if matches(one, kind, name)), None)

    def get_asset_events(self, question: AssetEventQuestion) -> list[dict[str, Any]]:
        """Return the events of this test, those that it was triggered by among them."""
        found = [
            one
            for one in self._events()
            if matches(one, question.kind, question.name)
            and (question.after is None or _instant(question.after) <= _instant(one["timestamp"]))
            and (question.before is None or _instant(one["timestamp"]) < _instant(question.before))
        ]
        return (found if question.ascending else found[::-1])[: question.limit]

    def get_triggering_asset_events(self) -> list[dict[str, Any]]:
        """Return the events that the test was given."""
        return list(self.triggering)

    def _events(self) -> list[dict[str, Any]]:
        return self.triggering + self.asset_events


def matches(event: Mapping[str, Any], kind: str, name: str) -> bool:
    """Return whether an event is one of the asset or alias of this key."""
    return name in event["aliases"] if kind == "alias" else event["uri" if kind == "uri" else "name"] == name


_instant = datetime.fromisoformat


def stamped(event: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return an emitted event as a supervisor answers it: its names filled in, with time and ``source``."""
    name, uri = event.get("name") or event.get("uri"), event.get("uri") or event.get("name")
    return {**event, "name": name, "uri": uri, "timestamp": datetime.now(UTC).isoformat(), **source}


def variables_of(given: Mapping[str, Any] | None, path: str | None) -> dict[str, str]:
    """Return variables as texts: those of the file, under those given. Values that are no texts become JSON."""
    merged = {**(_read(path) if path else {}), **(given or {})}
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in merged.items()}


def connections_of(given: Mapping[str, Any] | None, path: str | None) -> dict[str, dict[str, Any]]:
    """Return connections as dicts of fields: those of the file, under those given.

    Each may be a ``Connection``, a dict of fields, or text (a URI or JSON).
    """
    merged = {**(_read(path) if path else {}), **(given or {})}
    return {conn_id: _connection(conn_id, value).to_dict() for conn_id, value in merged.items()}


def _connection(conn_id: str, value: Any) -> Connection:
    if isinstance(value, Connection):
        return value
    if isinstance(value, str):
        return read_connection(value, conn_id)
    return Connection.from_dict(value, conn_id)


def _read(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceFileError(path, str(error)) from None
    if path.endswith(".env"):
        return _read_lines(path, text)
    try:
        # pyyaml is no dependency of the SDK; a YAML file asks for it.
        read = importlib.import_module("yaml").safe_load if path.endswith((".yaml", ".yml")) else json.loads
        found = read(text)
    except Exception as error:
        raise SourceFileError(path, f"{type(error).__name__}: {error}") from None
    if not isinstance(found, dict):
        raise SourceFileError(path, f"expected an object of names and values, found {type(found).__name__}")
    return found


def _read_lines(path: str, text: str) -> dict[str, Any]:
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, equals, value = stripped.partition("=")
        if not equals:
            raise SourceFileError(path, f"line {number} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found
