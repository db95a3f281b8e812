"""Settles pods that are over: tells of ends that were not reported, then deletes the pod, or marks it as done.

On threads of its own, since of a pod that ended badly its output is read first, and what the server lacks of its log is
sent after. What the cluster refuses is done again later; the event of an end goes out once per scheduler, and the
database takes it once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final
from uuid import UUID

from treadle_executors.executor import ExecutorEvent
from treadle_executors.kubernetes import names
from treadle_executors.kubernetes.book import Book
from treadle_executors.kubernetes.cluster import Cluster
from treadle_executors.kubernetes.errors import KubernetesError
from treadle_executors.kubernetes.last_lines import LastLines, last_words
from treadle_executors.kubernetes.options import Options

log = logging.getLogger(__name__)

_THREADS: Final = 4


class Settling:
    """The threads that settle pods."""

    def __init__(
        self,
        cluster: Cluster,
        book: Book,
        options: Options,
        tell: Callable[[ExecutorEvent], None],
        last_lines: LastLines,
    ) -> None:
        self._cluster = cluster
        self._last_lines = last_lines
        self._book = book
        self._policy = options.delete_pods
        self._tell = tell
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, name=f"kubernetes-settle-{number}", daemon=True)
            for number in range(_THREADS)
        ]

    def start(self) -> None:
        """Start the threads."""
        for one in self._threads:
            one.start()

    def stop(self) -> None:
        """End the threads, after what waits for them."""
        for one in self._threads:
            if one.ident is not None:
                self._jobs.put(None)
        for one in self._threads:
            if one.ident is not None:
                one.join()

    def settle(self, attempt_id: UUID, *, is_gone: bool = False) -> None:
        """Settle a pod that has ended; with ``is_gone`` there is nothing left of it."""
        self._jobs.put(lambda: self._settle(attempt_id, is_gone=is_gone))

    def delete(self, name: str, uid: str | None) -> None:
        """Delete a pod."""
        self._jobs.put(lambda: self._cluster.delete_pod(name, uid))

    def again(self) -> None:
        """Settle what could not be settled before."""
        for watched in self._book.ended_pods():
            if not watched.view.is_leaving:
                self.settle(watched.view.ref.attempt_id)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except KubernetesError as error:
                log.warning("a pod could not be settled yet: %s", error)
            except Exception:
                log.exception("a pod could not be settled")

    def _settle(self, attempt_id: UUID, *, is_gone: bool) -> None:
        watched = self._book.watched(attempt_id)
        if watched is None or watched.ended is None:
            return
        ended, view = watched.ended, watched.view
        if ended.kind is not None and not watched.is_told:
            watched.is_told = True
            output = b"" if is_gone or view.is_pending else self._last_lines.output_of(view)
            words = last_words(output)
            said = f"; its last words: {words}" if words else ""
            self._tell(ExecutorEvent(ended.kind, attempt_id, ended.reason + said))
            self._last_lines.send(view, output)
        if is_gone:
            self._book.forget_pod(attempt_id)
        elif self._policy == "always" or view.is_pending or (self._policy == "on_success" and ended.is_success):
            self._cluster.delete_pod(view.name, view.uid)
        else:
            # It leaves the watch by this label, as if it were deleted.
            self._cluster.label_pod(view.name, {names.DONE: "true"})
