"""The claim-lease-fence protocol as a finite machine: one task instance, two hosts, and a network that does its worst.

A state is a value; :func:`steps` gives everything that can happen next. The clock is relative: what is stored is how
many ticks a lease still has, so that time goes on without end in finitely many states. Messages are delivered in any
order and at any time; each fault (a message lost or doubled, a host killed, an instance cleared, an executor that
believes its host lost) takes one from ``faults``. ``Rules`` are the protocol's safeguards; the tests remove one at a
time. ``docs/explanation/protocol-model.md`` tells which line of the product each rule stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

LEASE = 2
"""Ticks from the renewal of a lease to its end."""

EXPIRED = -1
HOSTS = 2
FINISHED = ("success", "failed")
HELD = ("queued", "running", "restarting")
"""The states in which an attempt holds a lease."""


@dataclass(frozen=True)
class Rules:
    """The safeguards, all in force."""

    fenced: bool = True
    """A report changes the instance only if it names the present attempt."""
    guarded: bool = True
    """A start is accepted only from queued: the second of two equal starts is refused."""
    hosts_end_expired: bool = True
    """A host ends code whose lease it could not renew, before the lease ends."""
    hosts_refuse_late_answers: bool = True
    """A host does not begin code when the answer to its start came after the lease's end."""
    hosts_take_once: bool = True
    """A host takes an attempt once, however often it is handed over."""
    leases_count_from_sending: bool = True
    """A host counts a renewed lease from when it asked, not from when it was answered."""
    lost_are_charged: bool = True
    """Whoever finds an attempt's lease ended ends the attempt."""


class Instance(NamedTuple):
    """The row of the task instance."""

    state: str
    attempt: int
    lease: int
    tries: int


class Runner(NamedTuple):
    """An attempt on a host. ``phase``: waiting (its start is reported) or running (user code is at work)."""

    attempt: int
    host: int
    phase: str
    lease: int


class Message(NamedTuple):
    """A message under way. ``lease`` ticks with the clock: what is left of it, counted from the sending."""

    kind: str
    attempt: int
    host: int = 0
    lease: int = 0
    outcome: str = ""


class State(NamedTuple):
    """Everything there is."""

    instance: Instance
    runners: tuple[Runner, ...]
    taken: frozenset[tuple[int, int]]
    """The attempts that each living host has ever taken."""
    network: tuple[Message, ...]
    made: int
    """How many attempts were ever made."""
    begun: frozenset[int]
    """The attempts whose code has begun."""
    ended: tuple[int, ...]
    """The attempts that were ended in the database, each as often as that happened."""
    faults: int


class Bounds(NamedTuple):
    """How far to look."""

    attempts: int = 3
    retries: int = 1
    faults: int = 2


Step = tuple[str, State]


def initial(bounds: Bounds) -> State:
    """Return the state in which the instance waits for its first attempt."""
    return State(Instance("scheduled", 0, 0, 0), (), frozenset(), (), 0, frozenset(), (), bounds.faults)


def steps(state: State, rules: Rules, bounds: Bounds) -> Iterator[Step]:
    """Yield everything that can happen in ``state``, named, with the state after it."""
    for name, after in _steps(state, rules, bounds):
        yield name, _without_the_futile(after) if rules.hosts_take_once else after


def _without_the_futile(state: State) -> State:
    """Drop messages to a host that can change nothing any more: there are far fewer states then."""
    phases = {(one.attempt, one.host): one.phase for one in state.runners}
    kept = tuple(
        one
        for one in state.network
        if one.kind not in _HEARD_IN
        or (one.kind == "run" and (one.attempt, one.host) not in state.taken)
        or phases.get((one.attempt, one.host)) == _HEARD_IN[one.kind]
    )
    return state if len(kept) == len(state.network) else state._replace(network=kept)


_HEARD_IN = {"run": None, "accepted": "waiting", "refused": "waiting", "renewed": "running", "lost": "running"}
"""The phase in which a host listens to each kind of message to it."""


def _steps(state: State, rules: Rules, bounds: Bounds) -> Iterator[Step]:
    yield from _scheduler(state, rules, bounds)
    yield from _hosts(state, rules)
    for position, message in enumerate(state.network):
        if position and state.network[position - 1] == message:
            continue
        rest = state.network[:position] + state.network[position + 1 :]
        yield f"deliver {_name(message)}", _deliver(state._replace(network=rest), message, rules, bounds)
        if state.faults:
            fewer = state._replace(faults=state.faults - 1)
            yield f"lose {_name(message)}", fewer._replace(network=rest)
            for host in range(HOSTS) if message.kind == "run" else (message.host,):
                yield f"double {_name(message)} to host {host}", _send(fewer, message._replace(host=host))
    if not _must_act(state, rules):
        yield "tick", _tick(state)


def _name(message: Message) -> str:
    return f"{message.kind} {message.attempt} {message.outcome}".rstrip()


def _scheduler(state: State, rules: Rules, bounds: Bounds) -> Iterator[Step]:
    instance = state.instance
    if instance.state == "scheduled" and state.made < bounds.attempts:
        number = state.made + 1
        queued = state._replace(
            instance=Instance("queued", number, LEASE, instance.tries + 1),
            made=number,
        )
        # The hosts are alike, so the first attempt may as well go to the first.
        for host in range(HOSTS if state.made else 1):
            yield f"queue {number} for host {host}", _send(queued, Message("run", number, host))
    if instance.state in HELD and instance.lease == EXPIRED:
        if instance.state == "queued":
            yield (
                f"take back {instance.attempt}",
                state._replace(instance=Instance("scheduled", 0, 0, instance.tries - 1)),
            )
        elif rules.lost_are_charged:
            yield f"charge {instance.attempt}", _finish(state, instance.attempt, "failed", bounds)
    if instance.state in ("running", *FINISHED) and state.faults:
        cleared = "restarting" if instance.state == "running" else "scheduled"
        yield "clear", state._replace(instance=instance._replace(state=cleared), faults=state.faults - 1)


def _hosts(state: State, rules: Rules) -> Iterator[Step]:
    for runner in state.runners:
        gone = state._replace(runners=tuple(one for one in state.runners if one is not runner))
        if runner.phase == "running":
            for outcome in FINISHED:
                finish = Message("finish", runner.attempt, runner.host, 0, outcome)
                yield f"code of {runner.attempt} ends: {outcome}", _send(gone, finish)
            under_way = ("beat", "renewed", "lost")
            beats = any(one.attempt == runner.attempt and one.kind in under_way for one in state.network)
            if runner.lease < LEASE and not beats:
                yield f"beat of {runner.attempt}", _send(state, Message("beat", runner.attempt, runner.host, LEASE))
        if _is_over(runner, rules):
            finish = Message("finish", runner.attempt, runner.host, 0, "failed")
            yield f"host ends {runner.attempt}", _send(gone, finish) if runner.phase == "running" else gone
        if state.faults:
            yield f"host {runner.host} is killed", _killed(state, runner.host)


def _killed(state: State, host: int) -> State:
    """A host dies with all below it, and with it its connection and its memory; its executor reports what it held."""
    held = [one for one in state.runners if one.host == host]
    after = state._replace(
        runners=tuple(one for one in state.runners if one.host != host),
        taken=frozenset(one for one in state.taken if one[1] != host),
        network=tuple(one for one in state.network if one.host != host or one.kind not in _HEARD_IN),
        faults=state.faults - 1,
    )
    for one in held:
        after = _send(after, Message("finish", one.attempt, host, 0, "failed"))
    return after


def _is_over(runner: Runner, rules: Rules) -> bool:
    limited = rules.hosts_end_expired if runner.phase == "running" else rules.hosts_refuse_late_answers
    return limited and runner.lease <= 0


def _must_act(state: State, rules: Rules) -> bool:
    """Tell whether something is due now, so that the clock waits for it: hosts are in time, or dead."""
    return any(_is_over(one, rules) for one in state.runners)


def _tick(state: State) -> State:
    instance = state.instance
    if instance.state in HELD:
        instance = instance._replace(lease=max(EXPIRED, instance.lease - 1))
    return state._replace(
        instance=instance,
        runners=tuple(one._replace(lease=max(0, one.lease - 1)) for one in state.runners),
        network=tuple(sorted(one._replace(lease=max(0, one.lease - 1)) for one in state.network)),
    )


def _send(state: State, message: Message) -> State:
    return state._replace(network=tuple(sorted((*state.network, message))))


def _deliver(state: State, message: Message, rules: Rules, bounds: Bounds) -> State:
    match message.kind:
        case "run":
            return _take(state, message, rules)
        case "start":
            return _record_start(state, message, rules)
        case "accepted" | "refused":
            return _answered(state, message)
        case "beat":
            return _record_beat(state, message, rules)
        case "renewed" | "lost":
            return _renewed(state, message, rules)
        case _:
            return _record_finish(state, message, rules, bounds)


def _take(state: State, message: Message, rules: Rules) -> State:
    key = (message.attempt, message.host)
    if any((one.attempt, one.host) == key for one in state.runners) or (rules.hosts_take_once and key in state.taken):
        return state
    runner = Runner(message.attempt, message.host, "waiting", LEASE)
    return _send(
        state._replace(runners=tuple(sorted((*state.runners, runner))), taken=state.taken | {key}),
        Message("start", message.attempt, message.host),
    )


def _is_present(state: State, message: Message, rules: Rules) -> bool:
    return state.instance.attempt == message.attempt or not rules.fenced


def _record_start(state: State, message: Message, rules: Rules) -> State:
    lawful = ("queued",) if rules.guarded else ("queued", "running")
    if state.instance.state in lawful and _is_present(state, message, rules):
        running = state.instance._replace(state="running", lease=LEASE)
        return _send(state._replace(instance=running), Message("accepted", message.attempt, message.host))
    return _send(state, Message("refused", message.attempt, message.host))


def _answered(state: State, message: Message) -> State:
    for runner in state.runners:
        if (runner.attempt, runner.host, runner.phase) == (message.attempt, message.host, "waiting"):
            others = tuple(one for one in state.runners if one is not runner)
            if message.kind == "refused":
                return state._replace(runners=others)
            running = tuple(sorted((*others, runner._replace(phase="running"))))
            return state._replace(runners=running, begun=state.begun | {runner.attempt})
    return state


def _record_beat(state: State, message: Message, rules: Rules) -> State:
    if state.instance.state in ("queued", "running") and _is_present(state, message, rules):
        renewed = state._replace(instance=state.instance._replace(lease=LEASE))
        return _send(renewed, message._replace(kind="renewed"))
    return _send(state, message._replace(kind="lost", lease=0))


def _renewed(state: State, message: Message, rules: Rules) -> State:
    changed = []
    for one in state.runners:
        if (one.attempt, one.host, one.phase) != (message.attempt, message.host, "running"):
            changed.append(one)
        elif message.kind == "renewed":
            lease = message.lease if rules.leases_count_from_sending else LEASE
            changed.append(one._replace(lease=max(one.lease, lease)))
    return state._replace(runners=tuple(changed))


def _record_finish(state: State, message: Message, rules: Rules, bounds: Bounds) -> State:
    if state.instance.state in HELD and _is_present(state, message, rules):
        return _finish(state, message.attempt, message.outcome, bounds)
    return state


def _finish(state: State, attempt: int, outcome: str, bounds: Bounds) -> State:
    instance = state.instance
    if instance.state == "restarting" or (outcome == "failed" and instance.tries <= bounds.retries):
        after = "scheduled"
    else:
        after = outcome
    return state._replace(
        instance=Instance(after, attempt, 0, instance.tries),
        ended=tuple(sorted((*state.ended, attempt))),
    )
