"""The Kubernetes executor: a pod per attempt, made, watched and settled by threads of its own.

The scheduler's thread only hands over and collects. Schedulers share no state but the cluster's pods and the attempts'
leases: each of them watches all pods of the installation and may settle any, so that nothing has to be taken over when
one dies or restarts (cases C13, C14). Pods go on meanwhile; they report to the web server themselves.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import date
from uuid import UUID

from treadle_executors.errors import ExecutorError
from treadle_executors.executor import Executor, ExecutorEvent, Trouble, rejection
from treadle_executors.kubernetes import names
from treadle_executors.kubernetes.book import Book, Held
from treadle_executors.kubernetes.cluster import connect
from treadle_executors.kubernetes.creating import Creators
from treadle_executors.kubernetes.gate import Gate
from treadle_executors.kubernetes.last_lines import LastLines
from treadle_executors.kubernetes.options import load_options
from treadle_executors.kubernetes.pod_state import Ended, PodView, gone, overdue
from treadle_executors.kubernetes.pods import PodMaker
from treadle_executors.kubernetes.settling import Settling
from treadle_executors.kubernetes.watching import Watcher
from treadle_executors.queued_leases import DatabaseLeases, QueuedLeases
from treadle_metadata.attempt_tokens import AttemptClaim, AttemptTokens, Scope
from treadle_metadata.clock import Clock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.identifiers import AttemptRef
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload
from treadle_worker.workloads import problem_of

log = logging.getLogger(__name__)


class KubernetesExecutor(Executor):
    """Runs each attempt in a pod of its own."""

    name = "kubernetes"

    def __init__(
        self, database: Database, settings: Settings, clock: Clock | None = None, leases: QueuedLeases | None = None
    ) -> None:
        super().__init__(database, settings)
        if not settings.execution_url:
            raise ExecutorError(
                "the executor kubernetes needs the setting execution_url: the address at which pods reach a web server "
                "of this installation, such as http://treadle-webserver:8080"
            )
        self.slots = settings.parallelism
        self._clock = clock or SystemClock()
        self._leases = leases or DatabaseLeases(database, settings, self._clock)
        self._options = load_options(settings.home)
        self._tokens = AttemptTokens(settings.jwt_secret)
        self._lock = threading.Lock()
        self._events: list[ExecutorEvent] = []
        self._troubles: dict[str, str] = {}
        self._stopping = threading.Event()
        self._on_event: Callable[[], None] = lambda: None
        self._book = Book(self.slots)
        options = self._options
        self._gate = Gate(options.creates_at_once, options.first_pause_seconds, options.longest_pause_seconds)
        self._cluster = connect(options)
        self._creators = Creators(
            self._cluster,
            self._book,
            PodMaker(settings, options),
            self._gate,
            self,
            token_of=self._token_of,
            width=options.creates_at_once,
            most_creates=options.most_creates,
        )
        self._watcher = Watcher(self._cluster, names.watched_selector(options.installation), self)
        last_lines = LastLines(self._cluster, settings.execution_url, self._token_of)
        self._settling = Settling(self._cluster, self._book, options, self._tell, last_lines)
        self._keeper = threading.Thread(target=self._keep, name="kubernetes-keep", daemon=True)

    def start(self, on_event: Callable[[], None]) -> None:
        """Start to watch and to make pods."""
        self._on_event = on_event
        self._settling.start()
        self._watcher.start()
        self._creators.start()
        self._keeper.start()

    def queue(self, workloads: Iterable[Workload]) -> None:
        """Take attempts over; their pods are made in this order."""
        for workload in workloads:
            problem = problem_of(workload)
            if problem is None:
                month = date.fromisoformat(workload["month"])
                self._book.add(AttemptRef(UUID(workload["attempt_id"]), workload["task_instance_id"], month), workload)
            elif (event := rejection(workload.get("attempt_id"), problem)) is not None:
                self._tell(event)

    def events(self) -> list[ExecutorEvent]:
        """Return what happened since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return events

    def troubles(self) -> list[Trouble]:
        """Return that the cluster cannot be reached, or refuses pods for now, in its own words."""
        with self._lock:
            return [Trouble(sentence) for sentence in self._troubles.values()]

    def terminate(self, attempt_id: UUID, reason: str) -> None:
        """Delete the attempt's pod, which has its grace to end; a pod that is being made is deleted then."""
        found = self._book.unwanted(attempt_id, self.settings.lease_seconds)
        if found is not None:
            log.info("pod %s is deleted: %s", found[0], reason)
            self._settling.delete(*found)

    def adopt(self, attempt_ids: Iterable[UUID]) -> set[UUID]:
        """Return those that are held here, or whose pods are watched."""
        return {one for one in attempt_ids if self._book.has(one)}

    def end(self) -> None:
        """Stop; attempts without a pod are handed back, pods go on by themselves."""
        self._stopping.set()
        reason = "the scheduler was stopped before a pod was made for the attempt"
        with self._lock:
            self._events += [ExecutorEvent("handed_back", one, reason) for one in self._book.close()]
        self._creators.stop()
        with self._lock:
            # What a creator had to put back while it was being stopped.
            self._events += [ExecutorEvent("handed_back", one, reason) for one in self._book.close()]
        self._watcher.stop()
        self._settling.stop()
        if self._keeper.ident is not None:
            self._keeper.join()
        self._cluster.close()

    # What the creators say (``creating.Outcome``).

    def refused(self, held: Held, reason: str) -> None:
        """No pod can be made for an attempt."""
        self._book.drop(held.ref.attempt_id)
        self._tell(ExecutorEvent("rejected", held.ref.attempt_id, reason))

    def unwanted(self, held: Held) -> None:
        """A pod was made in vain."""
        self._settling.delete(held.name, held.uid)

    def create_trouble(self, sentence: str) -> None:
        """Pods cannot be made, or can be made again."""
        self._note_trouble("create", sentence)

    # What the watcher says (``watching.Listener``).

    def seen(self, view: PodView) -> None:
        """A pod is like this now."""
        watched = self._book.seen(view)
        if watched is not None:
            self._over()
            self._settling.settle(view.ref.attempt_id)
        elif self._book.is_to_end(view.ref.attempt_id):
            self._settling.delete(view.name, view.uid)

    def vanished(self, attempt_id: UUID, uid: str | None, last: PodView | None) -> None:
        """A pod is no more."""
        watched = self._book.watched(attempt_id)
        if watched is None or (uid is not None and watched.view.uid != uid):
            return
        self._book.ended(attempt_id, gone(last or watched.view), last)
        self._over()
        self._settling.settle(attempt_id, is_gone=True)

    def watch_trouble(self, sentence: str) -> None:
        """The pods cannot be watched, or are again."""
        self._note_trouble("watch", sentence)

    def _over(self) -> None:
        # A place is free: in a quota, and for the scheduler.
        self._gate.room()
        self._on_event()

    def _note_trouble(self, about: str, sentence: str) -> None:
        with self._lock:
            if sentence == self._troubles.get(about, ""):
                return
            if sentence:
                self._troubles[about] = sentence
            else:
                del self._troubles[about]
        if sentence:
            log.warning("%s", sentence)

    def _tell(self, event: ExecutorEvent) -> None:
        with self._lock:
            self._events.append(event)
        self._on_event()

    def _token_of(self, ref: AttemptRef) -> str:
        return self._tokens.issue(AttemptClaim(ref, Scope.QUEUED), now=self._clock.now())

    def _keep(self) -> None:
        """Renew leases of what has not started, end what has been pending for too long, settle what was left."""
        while not self._stopping.wait(self.settings.lease_renewal_seconds):
            try:
                self._renew()
                self._end_overdue()
                self._end_unseen()
                self._settling.again()
            except Exception as error:
                # The database, or anything else: without this thread waiting attempts would be taken back.
                log.warning("waiting attempts could not be looked after: %s: %s", type(error).__name__, error)

    def _renew(self) -> None:
        # Every scheduler does it for every pending pod that it sees, whoever made it: a pod goes on when its scheduler
        # is restarted, and nobody has to take it over (cases C13, C14).
        of_tasks, of_callbacks = self._book.not_started()
        if of_tasks or of_callbacks:
            kept = self._leases.keep(of_tasks, of_callbacks)
            self._book.started(ref for ref in (*of_tasks, *of_callbacks) if ref.attempt_id not in kept)

    def _end_overdue(self) -> None:
        seconds = self._options.pending_seconds
        for watched in self._book.pending(seconds):
            ended: Ended = overdue(watched.view, seconds)
            if self._book.ended(watched.view.ref.attempt_id, ended, None) is not None:
                self._over()
                self._settling.settle(watched.view.ref.attempt_id)

    def _end_unseen(self) -> None:
        """End attempts whose pods were deleted before any list or watch could tell of them."""
        for held in self._book.unseen(self.settings.lease_seconds):
            if not self._cluster.has_pod(held.name):
                self._book.drop(held.ref.attempt_id)
                self._over()
                reason = f"pod {held.name} was deleted before its attempt was over"
                self._tell(ExecutorEvent("lost", held.ref.attempt_id, reason))
