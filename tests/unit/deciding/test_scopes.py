"""The scopes of setups and teardowns."""

from __future__ import annotations

from typing import Any

from treadle.document import DagDocument, TaskDocument
from treadle_metadata.deciding.scopes import scopes_of, with_scopes


def task(task_id: str, *upstream: str, **changes: Any) -> TaskDocument:
    return TaskDocument(task_id, upstream=upstream, **changes)


CLUSTER = DagDocument(
    "cluster",
    tasks=(
        task("before"),
        task("s", "before", is_setup=True),
        task("t1", "s"),
        task("t2", "t1"),
        task("t3", "t2"),
        task("td", "s", "t3", is_teardown=True, setups=("s",)),
        task("after", "td"),
    ),
)


def test_work_waits_for_the_setups_that_serve_it_and_a_teardown_for_the_work_between() -> None:
    scopes = scopes_of(CLUSTER)
    assert scopes.guards == {3: (1,), 4: (1,)}
    assert scopes.work == {5: (2, 3, 4)}


def test_clearing_a_task_brings_its_setup_and_teardown_along_and_no_other_work() -> None:
    """Case A39: s, then t2, then td; t1 and t3 are not run again."""
    assert with_scopes(CLUSTER, ["t2"]) == {"s", "t2", "td"}
    assert with_scopes(CLUSTER, ["before"]) == {"before"}
    assert with_scopes(CLUSTER, ["after"]) == {"after"}


def test_a_setup_without_a_teardown_serves_all_that_is_below_it() -> None:
    document = DagDocument("d", tasks=(task("s", is_setup=True), task("a", "s"), task("b", "a")))
    assert with_scopes(document, ["b"]) == {"s", "b"}


def test_teardowns_do_not_make_the_runs_state_unless_they_are_told_to() -> None:
    work, aside = task("t"), task("td", "t", is_teardown=True)
    assert scopes_of(DagDocument("d", tasks=(work, aside))).deciding == (0,)
    telling = task("td", "t", is_teardown=True, on_failure_fail_dagrun=True)
    assert scopes_of(DagDocument("d", tasks=(work, telling))).deciding == (1,)
    assert scopes_of(DagDocument("d", tasks=(task("td", is_teardown=True),))).deciding == (0,)
