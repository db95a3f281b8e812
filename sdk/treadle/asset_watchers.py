"""Watchers of assets: a trigger whose events become events of an asset, so that DAGs run when something comes.

DAG files name them (``Asset(..., watchers=[...])``); the document carries the trigger's path and arguments, and a
triggerer runs it for as long as a file says so.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from treadle.errors import DagError, XComTypeError
from treadle.runtime.deferring import trigger_of
from treadle.wording import shown

if TYPE_CHECKING:
    from treadle.triggers.base import BaseEventTrigger


class AssetWatcher:
    """Each event of ``trigger`` becomes an event of the asset; its payload is in the event's ``extra``.

    Watchers whose triggers poll the same, of whichever assets and files, share one poll (case D11).

    Raises:
        DagError: the trigger is none that may watch, or its arguments cannot be carried.
    """

    def __init__(self, name: str, trigger: BaseEventTrigger) -> None:
        if not isinstance(name, str) or not name:
            raise DagError(f"an AssetWatcher needs a name, not {shown(name)}")
        if not callable(getattr(trigger, "shared_stream_key", None)):
            fact = f"AssetWatcher {shown(name)}: {trigger!r} cannot watch; it must be a BaseEventTrigger"
            raise DagError(fact)
        self.name = name
        self.trigger = trigger

    def document(self) -> dict[str, Any]:
        """Return the plain form.

        Raises:
            DagError: an argument of the trigger cannot be carried.
        """
        try:
            classpath, kwargs = trigger_of(self.trigger)
        except (TypeError, XComTypeError) as error:
            raise DagError(f"AssetWatcher {shown(self.name)}: {error}") from None
        shared = self.trigger.shared_stream_key()
        key = json.dumps([classpath, kwargs] if shared is not None else [classpath, kwargs, self.name])
        if shared is not None and shared != self.trigger.serialize():
            key = json.dumps([classpath, repr(shared)])
        digest = hashlib.sha256(key.encode()).hexdigest()
        weight = max(1, int(self.trigger.weight))
        return {"name": self.name, "classpath": classpath, "kwargs": kwargs, "weight": weight, "key": digest}

    def __repr__(self) -> str:
        return f"AssetWatcher({shown(self.name)})"
