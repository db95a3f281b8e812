"""The objects of the test cluster, their resource versions, and the history that watches are served from."""

from __future__ import annotations

import asyncio
import copy
import uuid
from collections import deque
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]


class Refused(Exception):
    """A request is answered with an error."""

    def __init__(self, status: int, reason: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    def body(self) -> Json:
        """Return the Status object that the server answers with."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.status,
        }


def matches(labels: dict[str, str], selector: str) -> bool:
    """Tell whether labels meet a selector of ``a=b``, ``a!=b``, ``a`` and ``!a`` parts."""
    for part in filter(None, selector.split(",")):
        if part.startswith("!"):
            met = part[1:] not in labels
        elif "!=" in part:
            name, _, value = part.partition("!=")
            met = labels.get(name) != value
        elif "=" in part:
            name, _, value = part.partition("=")
            met = labels.get(name) == value.lstrip("=")
        else:
            met = part in labels
        if not met:
            return False
    return True


class Change:
    """One change of one object, with what it was before."""

    __slots__ = ("after", "before", "kind", "version")

    def __init__(self, version: int, kind: str, before: Json | None, after: Json | None) -> None:
        self.version = version
        self.kind = kind
        self.before = before
        self.after = after

    def as_event(self, selector: str) -> Json | None:
        """Return the change as a watcher with ``selector`` is told of it; None if it is none of its business."""
        was = self.before is not None and matches(_labels(self.before), selector)
        is_now = self.after is not None and matches(_labels(self.after), selector)
        if is_now:
            return {"type": "MODIFIED" if was else "ADDED", "object": self.after}
        if was:
            last = copy.deepcopy(self.after or self.before)
            assert last is not None
            last["metadata"]["resourceVersion"] = str(self.version)
            return {"type": "DELETED", "object": last}
        return None


def _labels(thing: Json) -> dict[str, str]:
    labels: dict[str, str] = thing["metadata"].get("labels") or {}
    return labels


class Store:
    """Objects by kind and name. Used on the server's event loop only."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Json]] = {"pods": {}, "secrets": {}}
        self.version = 1000
        self.oldest = 1000
        """Versions before this one are gone."""
        self.history: deque[Change] = deque()
        self.changed = asyncio.Condition()
        self._waking = False

    def _record(self, kind: str, before: Json | None, after: Json | None) -> None:
        self.version += 1
        if after is not None:
            after["metadata"]["resourceVersion"] = str(self.version)
        self.history.append(Change(self.version, kind, before, copy.deepcopy(after)))
        if not self._waking:
            self._waking = True
            asyncio.get_running_loop().create_task(self._wake())

    async def _wake(self) -> None:
        self._waking = False
        async with self.changed:
            self.changed.notify_all()

    def create(self, kind: str, thing: Json) -> Json:
        """Store a new object."""
        about = thing["metadata"]
        name = about["name"]
        if name in self.objects[kind]:
            raise Refused(409, "AlreadyExists", f'{kind} "{name}" already exists')
        about |= {"uid": str(uuid.uuid4()), "creationTimestamp": now_text()}
        self.objects[kind][name] = thing
        self._record(kind, None, thing)
        return thing

    def get(self, kind: str, name: str) -> Json:
        """Return an object."""
        if name not in self.objects[kind]:
            raise Refused(404, "NotFound", f'{kind} "{name}" not found')
        return self.objects[kind][name]

    def update(self, kind: str, name: str, change: Any) -> Json:
        """Have ``change`` alter an object in place, and tell watchers."""
        thing = self.get(kind, name)
        before = copy.deepcopy(thing)
        change(thing)
        self._record(kind, before, thing)
        return thing

    def remove(self, kind: str, name: str) -> None:
        """Remove an object, and what it owned."""
        thing = self.objects[kind].pop(name, None)
        if thing is None:
            return
        self._record(kind, thing, None)
        uid = thing["metadata"]["uid"]
        for other, secret in list(self.objects["secrets"].items()):
            if any(one["uid"] == uid for one in secret["metadata"].get("ownerReferences", [])):
                self.remove("secrets", other)

    def compact(self) -> None:
        """Forget the history: whoever watches from an older version is told 410."""
        self.oldest = self.version + 1
        self.version += 1
        self.history.clear()

    def since(self, version: int, kind: str) -> list[Change]:
        """Return the changes after ``version``; 410 if they are not known any more."""
        if version < self.oldest - 1:
            raise Refused(410, "Expired", f"too old resource version: {version} ({self.oldest})")
        found = []
        for change in reversed(self.history):
            if change.version <= version:
                break
            if change.kind == kind:
                found.append(change)
        return found[::-1]


def now_text() -> str:
    """Return the time as the API writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
