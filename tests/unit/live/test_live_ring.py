"""What notifications say, and what is kept of what was told."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from treadle_webserver.live.changes import read
from treadle_webserver.live.ring import ChangedRun, Ring


def test_notifications_of_one_moment_are_put_together() -> None:
    found = read(["run 1,2", "task 2,3", "dag a,b", "pool", "rights", "import_error", "asset 7,8"])
    assert (found.runs, found.tasks, found.dags) == ({1, 2}, {2, 3}, {"a", "b"})
    assert found.kinds == {"pool", "import_error", "asset"}
    assert found.rights
    assert not read([])


def test_what_is_too_much_to_name_may_have_changed_any_dag() -> None:
    for payload in ("dag *", "nonsense", "", "run x", "run "):
        assert read([payload, "dag a"]).dags is None, payload


def test_a_reader_gets_what_was_told_since_and_nothing_twice() -> None:
    ring = Ring("epoch")
    for name in "abc":
        ring.add((), frozenset({name}), frozenset())
    assert ring.number_of(ring.id_of(1)) == 1
    assert [one.dags for one in ring.after(1) or ()] == [{"b"}, {"c"}]
    assert ring.after(3) == []


def test_what_is_forgotten_or_another_processs_is_not_read_on_from() -> None:
    ring = Ring("epoch", kept=2)
    for name in "abc":
        ring.add((), frozenset({name}), frozenset())
    assert ring.after(0) is None
    assert ring.after(4) is None
    assert [one.number for one in ring.after(1) or ()] == [2, 3]
    assert ring.number_of("other-1") is None
    assert ring.number_of("epoch-x") is None
    ring.skip()
    assert ring.after(3) is None


def test_who_sees_some_dags_is_told_of_them_only() -> None:
    ring = Ring("epoch")
    runs = (ChangedRun("mine", "r1", "running", True), ChangedRun("theirs", "r2", "failed", False))
    ring.add(runs, frozenset({"mine", "theirs"}), frozenset())
    (told,) = ring.after(0) or []
    text = told.text("epoch-1", lambda dag_id: dag_id == "mine")
    assert text is not None
    assert text.startswith(b"id: epoch-1\nevent: change\ndata: ")
    content = json.loads(text.split(b"data: ")[1])
    assert content == {
        "runs": [{"dag_id": "mine", "run_id": "r1", "state": "running", "tasks": True}],
        "dags": ["mine"],
        "kinds": [],
    }
    assert told.text("epoch-1", lambda _: False) is None


@given(st.lists(st.sampled_from(["add", "skip"]), max_size=30), st.integers(1, 5))
def test_a_reader_that_follows_misses_nothing_or_is_told_so(acts: list[str], kept: int) -> None:
    ring, at, missed = Ring("e", kept=kept), 0, False
    for act in acts:
        before = ring.newest
        ring.add((), frozenset({"a"}), frozenset()) if act == "add" else ring.skip()
        found = ring.after(at)
        missed = missed or found is None
        assert (found is None) == (act == "skip")
        assert found is None or [one.number for one in found] == [before + 1]
        at = ring.newest
    assert missed == ("skip" in acts)
