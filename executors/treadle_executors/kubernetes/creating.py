"""Makes pods, several at once, on threads of its own: the pod, then the secret that it owns.

In this order, so that a crash between the two leaves nothing behind that the cluster would not remove. A pod that is
there already is the attempt's own (its name ends with the attempt's id), and is completed. What the cluster refuses
for now is tried again behind the gate; what it refuses for good ends the attempt with the cluster's sentence.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from treadle_executors.kubernetes.book import Book, Held
from treadle_executors.kubernetes.cluster import Cluster
from treadle_executors.kubernetes.errors import ApiError, KubernetesError, PodRefused
from treadle_executors.kubernetes.gate import Gate
from treadle_executors.kubernetes.merging import Json
from treadle_executors.kubernetes.pods import PodMaker
from treadle_metadata.identifiers import AttemptRef
from treadle_worker.protocol import Workload

log = logging.getLogger(__name__)


class Outcome(Protocol):
    """Who is told how it went; called on the creators' threads."""

    def refused(self, held: Held, reason: str) -> None:
        """No pod can be made for an attempt."""

    def unwanted(self, held: Held) -> None:
        """A pod was made for an attempt that was ended meanwhile."""

    def create_trouble(self, sentence: str) -> None:
        """No pod can be made just now; empty: they are made again."""


class Creators:
    """The threads."""

    def __init__(
        self,
        cluster: Cluster,
        book: Book,
        maker: PodMaker,
        gate: Gate,
        outcome: Outcome,
        *,
        token_of: Callable[[AttemptRef], str],
        width: int,
        most_creates: int,
    ) -> None:
        self._cluster = cluster
        self._book = book
        self._maker = maker
        self._gate = gate
        self._outcome = outcome
        self._token_of = token_of
        self._most = most_creates
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._serve, name=f"kubernetes-create-{number}", daemon=True)
            for number in range(width)
        ]

    def start(self) -> None:
        """Start the threads."""
        for one in self._threads:
            one.start()

    def stop(self) -> None:
        """End the threads, once the book is closed; requests under way are waited for."""
        self._stopping.set()
        for one in self._threads:
            if one.ident is not None:
                one.join()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            held = self._book.next()
            if held is None:
                return
            while not self._stopping.is_set() and (wait := self._gate.enter()) > 0:
                self._stopping.wait(min(wait, 1.0))
            if self._stopping.is_set():
                self._book.put_back(held)
            else:
                self._make(held)

    def _make(self, held: Held) -> None:
        workload = held.workload
        try:
            if workload is not None and not held.is_unwanted:
                self._create(held, workload)
            self._gate.passed()
            self._outcome.create_trouble("")
            if self._book.made(held) and held.uid is not None:
                self._outcome.unwanted(held)
        except PodRefused as error:
            self._gate.passed()
            self._outcome.refused(held, str(error))
        except ApiError as error:
            self._api_refused(held, error)
        except KubernetesError as error:
            self._later(held, str(error), None)
        except Exception as error:
            log.exception("the pod of attempt %s could not be made", held.ref.attempt_id)
            self._gate.passed()
            self._outcome.refused(held, f"its pod could not be made: {type(error).__name__}: {error}")

    def _create(self, held: Held, workload: Workload) -> None:
        wanted = self._maker.pod(workload)
        held.creates += 1
        try:
            pod = self._cluster.create_pod(wanted)
        except ApiError as error:
            if error.status != 409 or error.reason not in ("AlreadyExists", ""):
                raise
            pod = self._cluster.get_pod(held.name)
        held.uid = pod["metadata"]["uid"]
        secret: Json = self._maker.secret(workload, self._token_of(held.ref), pod)
        try:
            self._cluster.create_secret(secret)
        except ApiError as error:
            if error.status != 409:
                raise

    def _api_refused(self, held: Held, error: ApiError) -> None:
        if not error.may_pass:
            self._gate.passed()
            self._outcome.refused(held, str(error))
        elif self._most and held.creates >= self._most:
            self._gate.passed()
            self._outcome.refused(held, f"after {held.creates} tries, {error}")
        else:
            self._later(held, str(error), error.retry_after)

    def _later(self, held: Held, sentence: str, at_least: float | None) -> None:
        self._gate.refused(at_least)
        self._outcome.create_trouble(sentence)
        self._book.put_back(held)
