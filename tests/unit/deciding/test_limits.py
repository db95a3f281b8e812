"""Admission: no limit is ever passed, nothing that would fit is refused, and each refusal names its limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_metadata.deciding.limits import Candidate, Limits, Load, Refusal, admit
from treadle_metadata.deciding.reasons import Reason
from treadle_metadata.deciding.turns import Turns


def candidate(number: int, **changes: object) -> Candidate:
    values: dict[str, object] = {
        "id": number,
        "dag_run_id": 1,
        "dag_id": "d",
        "task_id": "t",
        "pool": "p",
        "pool_slots": 1,
        "run_cap": 100,
    }
    return Candidate(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words", "reason"),
    [
        ({"pool": "gone"}, "pool 'gone' does not exist", Reason.POOL_MISSING),
        ({"pool_slots": 5}, "it can never run: it asks for 5 slots of pool 'p', which has 4", Reason.POOL_TOO_SMALL),
        ({"pool_slots": 3}, "pool 'p' has 2 of 4 slots free, it asks for 3", Reason.POOL),
        ({"executor": "local"}, "executor 'local' has 2 active attempts", Reason.EXECUTOR_FULL),
        ({"run_cap": 2}, "its run has 2 active tasks", Reason.DAG_CAP),
        ({"task_cap": 2}, "task 't' has 2 active instances, the most that max_active_tis_per_dag", Reason.TASK_CAP),
        ({"task_cap_in_run": 2}, "the most that max_active_tis_per_dagrun allows", Reason.TASK_CAP_IN_RUN),
    ],
)
def test_a_refusal_names_the_limit(change: dict[str, object], words: str, reason: Reason) -> None:
    load = Load()
    load.hold(pool="p", slots=2, executor="local", count=2)
    load.engage(dag_run_id=1, dag_id="d", task_id="t", pool="p", slots=2, count=2)
    admitted, refused = admit([candidate(1, **change)], load, Limits(10, {"p": 4}, {"local": 2}))
    assert admitted == []
    assert words in refused[1].sentence
    assert refused[1].reason is reason


def test_parallelism_is_named_when_it_is_reached() -> None:
    _, refused = admit([candidate(1), candidate(2)], Load(), Limits(1, {"p": -1}))
    assert refused == {2: Refusal(Reason.PARALLELISM, "the installation's parallelism of 1 is reached")}


@st.composite
def crowds(draw: st.DrawFn) -> list[Candidate]:
    """Instances of two DAGs, two tasks and two runs each, in two pools and on two executors, in order of their runs."""
    caps = st.one_of(st.none(), st.integers(1, 3))
    task_caps = {(dag, name): (draw(caps), draw(caps)) for dag in "ab" for name in "tu"}
    run_caps = {run: draw(st.integers(1, 4)) for run in range(4)}
    crowd = []
    for number in range(draw(st.integers(0, 12))):
        name, run = draw(st.sampled_from("tu")), draw(st.integers(0, 3))
        dag = "ab"[run % 2]
        crowd.append(
            candidate(
                number,
                dag_id=dag,
                task_id=name,
                dag_run_id=run,
                run_cap=run_caps[run],
                pool=draw(st.sampled_from("pq")),
                pool_slots=draw(st.integers(1, 3)),
                task_cap=task_caps[dag, name][0],
                task_cap_in_run=task_caps[dag, name][1],
                weight=draw(st.integers(1, 2)),
                executor=draw(st.sampled_from(["local", "other"])),
                is_backfill=draw(st.booleans()),
            )
        )
    return sorted(crowd, key=lambda one: (one.dag_run_id, one.id))


def fits(group: list[Candidate], one: Candidate, limits: Limits) -> bool:
    together = [*group, one]
    same_task = [other for other in together if (other.dag_id, other.task_id) == (one.dag_id, one.task_id)]
    return (
        len(together) <= limits.parallelism
        and sum(other.executor == one.executor for other in together) <= limits.executors.get(one.executor, 99)
        and (limits.pools[one.pool] == -1 or slots_of(together, one.pool) <= limits.pools[one.pool])
        and sum(other.dag_run_id == one.dag_run_id for other in together) <= one.run_cap
        and (one.task_cap is None or len(same_task) <= one.task_cap)
        and (
            one.task_cap_in_run is None
            or sum(other.dag_run_id == one.dag_run_id for other in same_task) <= one.task_cap_in_run
        )
    )


def slots_of(group: list[Candidate], pool: str, dag_id: str | None = None) -> int:
    return sum(one.pool_slots for one in group if one.pool == pool and dag_id in (None, one.dag_id))


def admitted_slowly(crowd: list[Candidate], limits: Limits, last: dict[tuple[str, bool, int], str]) -> list[Candidate]:
    """Ask before each step who is next: by live or backfill, weight, slots of its DAG in its pool, turn, and age."""
    waiting, admitted = list(crowd), list[Candidate]()
    looked_at = None
    turns = dict(last)
    while waiting:
        first = min((one.is_backfill, -one.weight) for one in waiting)
        if first != looked_at:
            looked_at, before = first, dict(turns)

        def turn(one: Candidate, before: dict[tuple[str, bool, int], str] = before) -> tuple[object, ...]:
            passed = one.dag_id <= before.get((one.pool, one.is_backfill, one.weight), "")
            held = slots_of(admitted, one.pool, one.dag_id)
            return (one.is_backfill, -one.weight, held, passed, one.dag_id, one.pool, one.dag_run_id, one.id)

        one = min(waiting, key=turn)
        waiting.remove(one)
        if fits(admitted, one, limits):
            admitted.append(one)
            turns[one.pool, one.is_backfill, one.weight] = one.dag_id
    return admitted


@given(
    crowds(), st.integers(1, 8), st.integers(0, 5), st.integers(-1, 5), st.integers(0, 3), st.sampled_from(["", "a"])
)
def test_admission_is_greedy_in_turn_and_never_passes_a_limit(
    crowd: list[Candidate], parallelism: int, p: int, q: int, on_other: int, last: str
) -> None:
    limits = Limits(parallelism, {"p": p, "q": q}, {"other": on_other})
    turns = Turns()
    turns.served("p", (False, -1), last)
    admitted, refused = admit(crowd, Load(), limits, turns)
    assert {one.id for one in admitted} | set(refused) == {one.id for one in crowd}
    assert [one.id for one in admitted] == [one.id for one in admitted_slowly(crowd, limits, {("p", False, 1): last})]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30), min_size=1),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5)),
    st.integers(1, 12),
)
def test_no_dag_gets_more_while_another_of_equal_weight_has_less_and_waits(
    backlogs: dict[str, int], held: dict[str, int], slots: int
) -> None:
    """Case H6: after admission, the shares of any two DAGs that still wait differ by one at the most."""
    load = Load()
    for dag_id, number in held.items():
        load.hold(pool="p", slots=number, count=number)
        load.engage(dag_run_id=-1, dag_id=dag_id, task_id="t", pool="p", slots=number, count=number)
    numbers = iter(range(1000))
    crowd = [
        candidate(next(numbers), dag_id=dag, dag_run_id=n, run_cap=99) for dag in backlogs for n in range(backlogs[dag])
    ]
    before = dict(load.shares)
    admitted, _ = admit(crowd, load, Limits(999, {"p": load.pools.get("p", 0) + slots}))
    assert len(admitted) == min(slots, len(crowd))
    got = {dag_id: sum(one.dag_id == dag_id for one in admitted) for dag_id in backlogs}
    waiting = [dag_id for dag_id in backlogs if got[dag_id] < backlogs[dag_id]]
    for fed in (dag_id for dag_id in backlogs if got[dag_id]):
        for hungry in waiting:
            assert before.get(("p", fed), 0) + got[fed] <= before.get(("p", hungry), 0) + got[hungry] + 1


def test_a_pool_of_one_slot_goes_round() -> None:
    turns, served = Turns(), []
    crowd = [candidate(n, dag_id="abc"[n % 3], dag_run_id=n) for n in range(9)]
    while crowd:
        admitted, _ = admit(crowd, Load(), Limits(99, {"p": 1}), turns)
        served += admitted
        crowd.remove(admitted[0])
    assert [one.dag_id for one in served] == list("abcabcabc")
    assert [one.dag_run_id for one in served] == list(range(9))


def test_whose_turn_was_last_is_remembered_only_where_somebody_is_left_in_line() -> None:
    turns = Turns()
    crowd = [candidate(n, dag_id="ab"[n % 2], dag_run_id=n, run_cap=99) for n in range(4)]
    admit(crowd, Load(), Limits(99, {"p": 1}), turns)
    assert turns.all() == [("p", (False, -1), "a")]
    admit(crowd, Load(), Limits(99, {"p": 4}), turns)
    assert turns.all() == []
