"""Whatever happens to runs, what schedulers remember of them is what the database says, and nothing stays undecided."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError
from tests.integration.scheduler.test_anything_goes import Anything, report, some
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.versions import add_version

from treadle.document import SKIPPED_TASKS, DagDocument, ExpandArgument, ExpandDocument, GroupDocument, TaskDocument
from treadle_metadata import clearing, execution
from treadle_metadata.deciding.past import held_by_past
from treadle_metadata.deciding.readiness import decide
from treadle_metadata.deciding.snapshot import Snapshot
from treadle_metadata.errors import ConflictError, InvalidRequestError
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.advancing import Advanced, advance
from treadle_scheduler.duties import advance_runs as duty
from treadle_scheduler.faults import DatabaseOutage
from treadle_scheduler.memory import Memory
from treadle_scheduler.waking import Scope

FEW: Final = 8


def task(task_id: str, *upstream: str, **changes: Any) -> TaskDocument:
    return TaskDocument(task_id, upstream=upstream, **changes)


def over(task_id: str) -> ExpandDocument:
    return ExpandDocument("product", (ExpandArgument("x", task_id=task_id),))


RETRIED: Final[dict[str, Any]] = {"retries": 1, "retry_delay_seconds": 20}
IN_GROUP: Final[dict[str, Any]] = {"group_id": "g"}
TEARDOWN: Final[dict[str, Any]] = {"is_teardown": True, "trigger_rule": "all_done_setup_success"}

MIXED: Final[DagDocument] = a_dag(
    "mixed",
    task("make", **RETRIED),
    task("branch", "make", can_skip=True),
    task("g.a", "branch", is_setup=True, **IN_GROUP),
    task("g.b", "g.a", can_skip=True, **IN_GROUP, **RETRIED),
    task("g.c", "g.b", **IN_GROUP),
    task("g.d", "g.c", "g.b", trigger_rule="none_failed", **IN_GROUP),
    task("g.z", "g.a", "g.d", setups=("g.a",), **TEARDOWN, **IN_GROUP),
    task("left", "branch"),
    task("each", "g.d", expand=over("g.d"), trigger_rule="none_failed"),
    task("any", "g.c", "left", trigger_rule="one_failed"),
    task("some", "g.c", "each", trigger_rule="one_done", is_empty=True),
    task("last", "each", "left", "any", trigger_rule="none_failed_min_one_success"),
    task("set", "left", is_setup=True),
    task("work", "set"),
    task("tear", "set", "work", setups=("set",), **TEARDOWN),
    groups=(GroupDocument("g", expand=over("make")),),
    max_active_runs=2,
)
FAST: Final[DagDocument] = a_dag(
    "fast", task("x"), task("y"), task("z", "x", "y"), task("t", "x", setups=("x",), **TEARDOWN), fail_fast=True
)
VERSIONS: Final = (
    MIXED,
    replace(MIXED, tasks=tuple(one for one in MIXED.tasks if one.task_id != "some")),
    replace(MIXED, tasks=(*MIXED.tasks, task("new", "last"))),
)
TASKS: Final = [one.task_id for one in (*MIXED.tasks, *FAST.tasks)]


class TwoSchedulers(Anything):
    """All that may happen to one scheduler, with a second one, new versions, outages, faults and a short memory."""

    def __init__(self, database: Any, settings: Settings) -> None:
        super().__init__(database, settings)
        self.other = TestScheduler(database, settings, self.clock)
        self.other.executor.queue = self.held.extend  # type: ignore[method-assign, assignment]
        self.versions = 1
        for document in (MIXED, FAST):
            self.scheduler.install(document)

    def _beat_of(self, first: bool) -> None:
        one = self.scheduler if first else self.other
        one.loop.wake(Scope.EVERYTHING)
        one.loop.beat()

    @rule(dag_id=st.sampled_from(["mixed", "mixed", "fast"]))
    def trigger_further(self, dag_id: str) -> None:
        if len(self._select("SELECT FROM dag_run")) < FEW:
            self.scheduler.trigger(dag_id)

    @rule()
    def beat_and_start_all(self) -> None:
        self._beat_of(False)
        while self.held:
            self.start(0)

    @precondition(lambda self: self.started)
    @rule(
        which=some,
        left_out=st.lists(st.sampled_from(["left", "g.a", "g.c", "g.d", "last"]), max_size=2),
        length=st.sampled_from([1, 2, 3]),
    )
    def finish_well(self, which: int, left_out: list[str], length: int) -> None:
        one = self.started.pop(which % len(self.started))
        pushed = [{"key": "return_value", "value": str([0] * length), "length": length}]
        if one["task_id"] in ("branch", "g.b"):
            pushed.append({"key": SKIPPED_TASKS, "value": json.dumps(left_out), "length": len(left_out)})
        self._act(execution.record_finishes, [report(one, self.clock.now(), outcome="success", xcoms=pushed)])

    @rule(first=st.booleans())
    def lose_the_database(self, first: bool) -> None:
        """It goes as runs have been advanced, before that is committed."""
        away = OperationalError("SELECT", {}, Exception("the server closed the connection"))
        with patch.object(duty, "look_again", side_effect=away), suppress(DatabaseOutage):
            self._beat_of(first)

    @rule(first=st.booleans())
    def fail_to_advance(self, first: bool) -> None:
        """The batch, then its first run by itself."""
        calls = iter(range(1000))

        def fault(*arguments: Any, **keywords: Any) -> Advanced:
            ended = advance(*arguments, **keywords)
            if next(calls) < 2:
                raise RuntimeError("a fault")
            return ended

        with patch.object(duty, "advance", fault):
            self._beat_of(first)

    @rule(most=st.sampled_from([5, 40, 500_000]))
    def remember(self, most: int) -> None:
        self.scheduler.context.memory._most = most

    @rule(document=st.sampled_from(VERSIONS))
    def deploy(self, document: DagDocument) -> None:
        self.versions += 1
        with self.scheduler.database.begin() as connection:
            add_version(connection, document, now=self.clock.now(), code=f"# {self.versions}")

    @precondition(lambda self: self._any_run())
    @rule(task_id=st.sampled_from(TASKS), which=some, below=st.booleans(), first=st.booleans(), latest=st.booleans())
    def clear_further(self, task_id: str, which: int, below: bool, first: bool, latest: bool) -> None:
        run, indexes = self._run(which), (0,) if first else None
        selection = clearing.Selection(
            dag_id=run["dag_id"],
            run_id=run["run_id"],
            task_ids=(task_id,),
            include_downstream=below,
            map_indexes=indexes,
        )
        with suppress(ConflictError, InvalidRequestError):
            self._act(clearing.clear, selection, latest=latest)

    @invariant()
    def memories_are_true(self) -> None:
        with self.scheduler.database.begin() as connection:
            woken = {
                row["dag_run_id"]
                for row in rows(
                    connection, "SELECT dag_run_id FROM run_wakeup WHERE due_at <= %(now)s", {"now": self.clock.now()}
                )
            }
            for run in rows(connection, "SELECT * FROM dag_run WHERE state = 'running'"):
                for one in (self.scheduler, self.other):
                    remembered = one.context.memory._current(run)
                    if remembered is not None and run["id"] not in woken:
                        _check(connection, run, remembered, at_rest=not woken)


def _check(connection: Connection, run: Mapping[str, Any], remembered: Snapshot, *, at_rest: bool) -> None:
    """Compare with what a scheduler without memory would read, and with what it would decide.

    A run that waits for the one before is woken when that one has been looked at: not before all are ``at_rest``.
    """
    read = Memory().read(connection, {run["id"]: remembered.graph}, run["month"])[run["id"]][0]
    assert [bytes(one).rstrip(b"\0") for one in remembered.codes] == [bytes(one).rstrip(b"\0") for one in read.codes]
    assert remembered.totals[1:] == read.totals[1:]
    assert {node: places for node, places in remembered.left_out.items() if places} == read.left_out
    for joint, tally in remembered._tallies.items():
        assert tally[1:] == read.tally(joint)[1:]
    if run["ending"] is None and (at_rest or not read.graph.past_dependent):
        held = held_by_past(connection, [run], {run["version_id"]: read.graph}).get(run["id"], frozenset())
        read.verified |= remembered.verified
        anew = decide(read, None, held)
        assert (anew.is_empty, anew.finish, anew.give_up) == (True, None, False)


def test_whatever_happens_schedulers_remember_what_is_true(database: Any, settings: Settings) -> None:
    run_state_machine_as_test(
        lambda: TwoSchedulers(database, settings),  # type: ignore[arg-type]
        settings=TRUTH,
    )


TRUTH: Final = settings(
    max_examples=4, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
