"""Admission: no limit is ever passed, nothing that would fit is refused, and each refusal names its limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_metadata.deciding.limits import Candidate, Limits, Load, Refusal, admit
from treadle_metadata.deciding.reasons import Reason


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
        ({"run_cap": 2}, "its run has 2 active tasks", Reason.DAG_CAP),
        ({"task_cap": 2}, "task 't' has 2 active instances, the most that max_active_tis_per_dag", Reason.TASK_CAP),
        ({"task_cap_in_run": 2}, "the most that max_active_tis_per_dagrun allows", Reason.TASK_CAP_IN_RUN),
    ],
)
def test_a_refusal_names_the_limit(change: dict[str, object], words: str, reason: Reason) -> None:
    load = Load()
    load.add(dag_run_id=1, dag_id="d", task_id="t", pool="p", slots=2, count=2)
    admitted, refused = admit([candidate(1, **change)], load, Limits(10, {"p": 4}))
    assert admitted == []
    assert words in refused[1].sentence
    assert refused[1].reason is reason


def test_parallelism_is_named_when_it_is_reached() -> None:
    _, refused = admit([candidate(1), candidate(2)], Load(), Limits(1, {"p": -1}))
    assert refused == {2: Refusal(Reason.PARALLELISM, "the installation's parallelism of 1 is reached")}


@st.composite
def crowds(draw: st.DrawFn) -> list[Candidate]:
    caps = st.one_of(st.none(), st.integers(1, 3))
    task_caps = {name: (draw(caps), draw(caps)) for name in ("t", "u")}
    run_caps = {run: draw(st.integers(1, 4)) for run in (1, 2)}
    crowd = []
    for number in range(draw(st.integers(0, 12))):
        name, run = draw(st.sampled_from(["t", "u"])), draw(st.sampled_from([1, 2]))
        crowd.append(
            candidate(
                number,
                task_id=name,
                dag_run_id=run,
                run_cap=run_caps[run],
                pool=draw(st.sampled_from(["p", "q"])),
                pool_slots=draw(st.integers(1, 3)),
                task_cap=task_caps[name][0],
                task_cap_in_run=task_caps[name][1],
            )
        )
    return crowd


@given(crowds(), st.integers(1, 8), st.integers(0, 5), st.integers(-1, 5))
def test_admission_is_greedy_in_order_and_never_passes_a_limit(
    crowd: list[Candidate], parallelism: int, p: int, q: int
) -> None:
    pools = {"p": p, "q": q}
    admitted, refused = admit(crowd, Load(), Limits(parallelism, pools))
    assert {one.id for one in admitted} | set(refused) == {one.id for one in crowd}

    def fits(group: list[Candidate], one: Candidate) -> bool:
        together = [*group, one]
        in_pool = sum(other.pool_slots for other in together if other.pool == one.pool)
        same_task = [other for other in together if other.task_id == one.task_id]
        return (
            len(together) <= parallelism
            and (pools[one.pool] == -1 or in_pool <= pools[one.pool])
            and sum(other.dag_run_id == one.dag_run_id for other in together) <= one.run_cap
            and (one.task_cap is None or len(same_task) <= one.task_cap)
            and (
                one.task_cap_in_run is None
                or sum(other.dag_run_id == one.dag_run_id for other in same_task) <= one.task_cap_in_run
            )
        )

    so_far: list[Candidate] = []
    for one in crowd:
        assert fits(so_far, one) == (one.id not in refused)
        if one.id not in refused:
            so_far.append(one)
    assert so_far == admitted
