"""Follows the pods of an installation: a list, then a watch from the list's version on, for ever.

The server may say that a version is too old (410), as an HTTP status or as an event in the stream: then everything is
listed again and compared with what was known, so that no end is missed (case C8). The same end may be told twice; who
listens takes it once. A pod that is not in order, whoever made it, is passed over.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Any, Final, Protocol
from uuid import UUID

from treadle_executors.kubernetes.cluster import Cluster, Json, Watch
from treadle_executors.kubernetes.errors import ApiError, KubernetesError
from treadle_executors.kubernetes.pod_state import PodView, view_of

log = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 10.0


class Listener(Protocol):
    """Who is told; each is called on the watcher's thread."""

    def seen(self, view: PodView) -> None:
        """A pod is, or has become, like this."""

    def vanished(self, attempt_id: UUID, uid: str | None, last: PodView | None) -> None:
        """A pod is no more; ``last`` is how it was when it went, if that is known."""

    def watch_trouble(self, sentence: str) -> None:
        """The pods cannot be watched just now; empty: they are again."""


class Watcher:
    """The thread that follows the pods."""

    def __init__(self, cluster: Cluster, selector: str, listener: Listener) -> None:
        self._cluster = cluster
        self._selector = selector
        self._listener = listener
        self._known: dict[UUID, str] = {}
        self._version = ""
        self._watch: Watch | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="kubernetes-watch", daemon=True)

    def start(self) -> None:
        """Start to follow."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        watch = self._watch
        if watch is not None:
            watch.stop()
        if self._thread.ident is not None:
            self._thread.join(_LONGEST_PAUSE)

    def _serve(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            try:
                if not self._version:
                    self._list()
                self._listener.watch_trouble("")
                self._follow()
                pause = _FIRST_PAUSE
                continue
            except ApiError as error:
                if error.status == 410:
                    # Not an error: the server keeps history for minutes only.
                    self._version = ""
                    if not self._stopping.wait(0.05):
                        continue
                self._listener.watch_trouble(str(error))
            except KubernetesError as error:
                if not self._stopping.is_set():
                    self._listener.watch_trouble(str(error))
            except Exception:
                # Without this thread no end of a pod would ever be known.
                log.exception("the pods could not be followed, listing them again")
                self._version = ""
            self._stopping.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _list(self) -> None:
        pods, version = self._cluster.list_pods(self._selector)
        found = list(_views(pods))
        listed = {view.ref.attempt_id for view in found}
        for attempt_id in [one for one in self._known if one not in listed]:
            self._listener.vanished(attempt_id, self._known.pop(attempt_id), None)
        for view in found:
            self._note(view)
        self._version = version

    def _follow(self) -> None:
        watch = self._watch = self._cluster.watch_pods(self._selector, self._version)
        if self._stopping.is_set():
            watch.stop()
        for event in watch:
            self._take(event)
            if self._stopping.is_set():
                return

    def _take(self, event: Json) -> None:
        kind, subject = event.get("type"), event.get("object")
        if not isinstance(subject, dict):
            return
        if kind == "ERROR":
            raise ApiError(int(subject.get("code") or 500), str(subject.get("reason")), str(subject.get("message")))
        metadata = subject.get("metadata")
        version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        if kind != "BOOKMARK":
            view = _view(subject)
            if view is not None and kind == "DELETED":
                self._known.pop(view.ref.attempt_id, None)
                self._listener.vanished(view.ref.attempt_id, view.uid, view)
            elif view is not None:
                self._note(view)
        if isinstance(version, str) and version:
            # Only now: an event that could not be taken comes again.
            self._version = version

    def _note(self, view: PodView) -> None:
        self._known[view.ref.attempt_id] = view.uid
        self._listener.seen(view)


def _views(pods: Iterable[Any]) -> Iterable[PodView]:
    for pod in pods:
        view = _view(pod)
        if view is not None:
            yield view


def _view(pod: Any) -> PodView | None:
    try:
        return view_of(pod)
    except Exception:
        # Whatever others may have made of it: one pod must not stop the watch of all.
        log.exception("a pod is passed over, it cannot be read")
        return None
