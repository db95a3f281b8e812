"""The monkey: breaks parts of a running cluster at random, and counts what it broke.

Kills with SIGKILL (schedulers, runner hosts, task children, triggerers, their loops, the web server), ends schedulers
in order, stops processes for longer than a lease and lets them go on, restarts PostgreSQL in order and without, ends
its sessions, and does what people do (``bench.people``). What it picks follows from its seed; when a victim is hit does
not, since that depends on the machine. Clocks of single schedulers are set forward and back.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlalchemy.exc import DBAPIError

from bench import processes
from bench.cluster import GRACE_SECONDS, LEASE_SECONDS, RENEWAL_SECONDS, Cluster, is_host, is_task_child
from bench.people import People
from bench.records import Excuse, WrongClock
from treadle_metadata.errors import MetadataError

SHORTEST_FREEZE = LEASE_SECONDS * 1.5
LONGEST_FREEZE = LEASE_SECONDS * 3
MOST_FROZEN = 2
MOST_STEP = LEASE_SECONDS * 2
DRAWS = 5
TO_OBEY = RENEWAL_SECONDS + GRACE_SECONDS + 1.0
"""How long a host that goes on may need until it knows that its attempts are not its any more, and has ended them."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """Processes that are stopped, until when, and the user code that nobody can end meanwhile."""

    pids: tuple[int, ...]
    children: frozenset[int]
    began: float
    until: float


class Monkey:
    """Does its acts on one cluster."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._frozen: list[Frozen] = []
        self.counts: Counter[str] = Counter()
        self._wrong: dict[int, WrongClock] = {}
        self.excuses: list[Excuse] = []
        self.wrong_clocks: list[WrongClock] = []
        self.people = People(cluster, self._random)
        acts: dict[Callable[[], bool], int] = {
            self.kill_scheduler: 3,
            self.kill_host: 3,
            self.kill_child: 5,
            self.freeze_scheduler: 3,
            self.freeze_host: 2,
            self.freeze_tree: 2,
            self.freeze_child: 1,
            self.end_sessions: 5,
            self.restart_database: 1,
            self.crash_database: 1,
            self.stop_scheduler: 3,
            self.step_clock: 2,
            self.kill_triggerer: 3,
            self.kill_loop: 2,
            self.kill_web: 1,
            self.freeze_triggerer: 2,
            self.freeze_web: 1,
            **self.people.acts,
        }
        self._acts, self._weights = list(acts), list(acts.values())
        self._first = self._random.sample(self._acts, len(self._acts))

    def act(self) -> str:
        """Do one act, each kind once before they are drawn by weight; count it and return its name.

        Where there is no victim for one, another is drawn.
        """
        for _ in range(DRAWS):
            act = self._first.pop() if self._first else self._random.choices(self._acts, self._weights)[0]
            with contextlib.suppress(DBAPIError, MetadataError):
                if act():
                    self.counts[act.__name__] += 1
                    return act.__name__
        return "nothing"

    def pause(self) -> float:
        """Return how long to leave the cluster alone before the next act."""
        return self._random.uniform(0.1, 1.0)

    def rest(self) -> None:
        """Let everything go on."""
        self.thaw(everything=True)

    def thaw(self, *, everything: bool = False) -> None:
        """Let go on what was stopped for long enough."""
        now = time.monotonic()
        due = [one for one in self._frozen if everything or one.until <= now]
        self._frozen = [one for one in self._frozen if one not in due]
        for one in due:
            for pid in one.pids:
                _signal(pid, signal.SIGCONT)
            if one.children:
                self.excuses.append(Excuse(one.children, one.began, time.monotonic() + TO_OBEY))
        for number, clock in list(self._wrong.items()):
            if everything or clock.ended <= time.time():
                self._set_right(number)

    def kill_scheduler(self) -> bool:
        """Kill a scheduler; its host must see that and end its children."""
        one = self._pick([one.pid for one in self._cluster.living()])
        return one is not None and _signal(one, signal.SIGKILL)

    def stop_scheduler(self) -> bool:
        """Tell a scheduler to end: it must hand its attempts back, and leave with code 0."""
        one = self._pick([one.pid for one in self._cluster.living() if one.pid not in self._cluster.stopping])
        if one is not None:
            self._cluster.stopping.add(one)
        return one is not None and _signal(one, signal.SIGTERM)

    def step_clock(self) -> bool:
        """Let a scheduler's clock be wrong for a while, by less than a lease or by more: then others' look over."""
        number = self._random.randrange(len(self._cluster.schedulers))
        if number in self._wrong:
            return False
        now = time.time()
        until = now + self._random.uniform(SHORTEST_FREEZE, LONGEST_FREEZE)
        self._wrong[number] = WrongClock(self._random.uniform(-MOST_STEP, MOST_STEP), now, until, time.monotonic())
        self._cluster.set_clock(number, self._wrong[number].seconds)
        return True

    def _set_right(self, number: int) -> None:
        wrong = self._wrong.pop(number)
        self._cluster.set_clock(number, 0.0)
        self.wrong_clocks.append(replace(wrong, ended=time.time()))
        self.excuses.append(Excuse(None, wrong.monotonic, time.monotonic() + TO_OBEY))

    def kill_host(self) -> bool:
        """Kill a runner host; its scheduler must charge its attempts."""
        one = self._pick(self._below(is_host))
        return one is not None and _signal(one, signal.SIGKILL)

    def kill_child(self) -> bool:
        """Kill a process that runs user code."""
        one = self._pick(self._below(is_task_child))
        return one is not None and _signal(one, signal.SIGKILL)

    def freeze_scheduler(self) -> bool:
        """Stop a scheduler alone: its host cannot renew any more, and must end its children in time."""
        one = self._pick([one.pid for one in self._cluster.living()])
        return one is not None and self._freeze([one], frozenset())

    def freeze_host(self) -> bool:
        """Stop a host alone: its children go on."""
        one = self._pick(self._below(is_host))
        return one is not None and self._freeze([one], self._children_of(one))

    def freeze_tree(self) -> bool:
        """Stop a scheduler and all below it, as when a machine is suspended."""
        one = self._pick([one.pid for one in self._cluster.living()])
        return one is not None and self._freeze(processes.tree(one), self._children_of(one))

    def freeze_child(self) -> bool:
        """Stop user code: its attempt is slow, nothing else."""
        one = self._pick(self._below(is_task_child))
        return one is not None and self._freeze([one], frozenset())

    def kill_triggerer(self) -> bool:
        """Kill a triggerer, without its loop: that must end by itself, and others take over what it ran."""
        one = self._pick(self._cluster.beside.triggerers())
        return one is not None and _signal(one, signal.SIGKILL)

    def kill_loop(self) -> bool:
        """Kill the loop of a triggerer, which must begin it anew."""
        parents = self._cluster.beside.triggerers()
        one = self._pick([pid for parent in parents for pid in processes.tree(parent) if pid != parent])
        return one is not None and _signal(one, signal.SIGKILL)

    def kill_web(self) -> bool:
        """Kill the web server: triggerers keep what they cannot report, and report it later."""
        one = self._pick(self._cluster.beside.web())
        return one is not None and _signal(one, signal.SIGKILL)

    def freeze_triggerer(self) -> bool:
        """Stop a triggerer, its loop, or both: what it runs is another's by then, and counts once."""
        one = self._pick(self._cluster.beside.triggerers())
        if one is None:
            return False
        tree = processes.tree(one)
        return self._freeze(self._random.choice([[one], tree[1:] or tree, tree]), frozenset())

    def freeze_web(self) -> bool:
        """Stop the web server."""
        one = self._pick(self._cluster.beside.web())
        return one is not None and self._freeze([one], frozenset())

    def end_sessions(self) -> bool:
        """End some of the sessions that PostgreSQL serves."""
        found = self._cluster.select(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        victims = self._random.sample([row["pid"] for row in found], min(len(found), self._random.randint(1, 4)))
        self._cluster.select("SELECT pg_terminate_backend(pid) FROM unnest(%(pids)s::int[]) AS pid", pids=victims)
        return bool(victims)

    def restart_database(self) -> bool:
        """Stop PostgreSQL in order and start it again."""
        self._cluster.database.close()
        self._cluster.server.stop()
        time.sleep(self._random.uniform(0, LEASE_SECONDS))
        self._cluster.server.start()
        return True

    def crash_database(self) -> bool:
        """Let PostgreSQL end at once, without writing anything, and start it again: it recovers from its log."""
        server = self._cluster.server
        self._cluster.database.close()
        if server.pid is not None:
            os.kill(server.pid, signal.SIGQUIT)
        while server.pid is not None:
            time.sleep(0.01)
        server.restart()
        return True

    def _pick(self, pids: list[int]) -> int | None:
        stopped = {pid for one in self._frozen for pid in one.pids}
        free = sorted(set(pids) - stopped)
        return self._random.choice(free) if free else None

    def _below(self, wanted: Callable[[int], bool]) -> list[int]:
        return [pid for one in self._cluster.living() for pid in processes.tree(one.pid) if wanted(pid)]

    def _children_of(self, root: int) -> frozenset[int]:
        return frozenset(pid for pid in processes.tree(root) if is_task_child(pid))

    def _freeze(self, pids: list[int], children: frozenset[int]) -> bool:
        if len(self._frozen) >= MOST_FROZEN:
            return False
        now = time.monotonic()
        until = now + self._random.uniform(SHORTEST_FREEZE, LONGEST_FREEZE)
        self._frozen.append(Frozen(tuple(pids), children, now, until))
        stopped = [_signal(pid, signal.SIGSTOP) for pid in pids]
        return any(stopped)


def _signal(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
