"""When a parsed document is a new version, and when a field merely never stands still (cases B11, G3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_metadata.catalog.versioning import Field, differences, judge, line_of


def _document(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "dag_id": "d",
        "start_date": "2025-01-01T00:00:00+00:00",
        "params": [{"name": "x", "value": 1}, {"name": "y"}],
        "tasks": [{"task_id": "a", "line": 5}, {"task_id": "b", "upstream": ["a"], "line": 6}],
        "line": 3,
    }
    return {**document, **changes}


BASE = _document()
MOVED = _document(start_date="2025-01-02T00:00:00+00:00")
LATER = _document(start_date="2025-01-03T00:00:00+00:00")
THIRD_TASK = _document(tasks=[*BASE["tasks"], {"task_id": "c"}])


def test_the_first_document_is_a_version() -> None:
    assert judge(None, BASE, None, inputs_changed=True).is_new


def test_an_edit_is_a_version() -> None:
    verdict = judge(BASE, MOVED, None, inputs_changed=True)
    assert (verdict.is_new, verdict.unstable) == (True, ())


def test_a_field_that_differs_between_two_runs_makes_no_version() -> None:
    verdict = judge(BASE, MOVED, LATER, inputs_changed=True)
    assert (verdict.is_new, verdict.unstable) == (False, (Field("start_date"),))


def test_an_edit_beside_an_unstable_field_is_a_version() -> None:
    edited, again = {**MOVED, "description": "new"}, {**LATER, "description": "new"}
    verdict = judge(BASE, edited, again, inputs_changed=True)
    assert (verdict.is_new, verdict.unstable) == (True, (Field("start_date"),))


def test_a_value_that_differs_without_any_edit_makes_no_version() -> None:
    """``start_date=today()`` is the same in two runs of one parse, and another the next day."""
    verdict = judge(BASE, MOVED, None, inputs_changed=False)
    assert (verdict.is_new, verdict.unstable) == (False, (Field("start_date"),))


def test_a_new_task_is_a_version_although_no_input_is_seen_to_change() -> None:
    """Tasks made from a table or a web page: what was read cannot be seen."""
    assert judge(BASE, THIRD_TASK, None, inputs_changed=False).is_new


def test_random_task_ids_make_one_version_until_the_file_is_edited() -> None:
    first, again = (_document(tasks=[{"task_id": name}]) for name in ("random_1", "random_2"))
    assert not judge(BASE, first, again, inputs_changed=False).is_new
    assert judge(BASE, first, again, inputs_changed=True).is_new


def test_tasks_in_another_order_make_no_version_without_an_edit() -> None:
    turned = _document(params=list(reversed(BASE["params"])))
    assert not judge(BASE, turned, None, inputs_changed=False).is_new
    assert judge(BASE, turned, None, inputs_changed=True).is_new
    assert [str(one) for one in differences(BASE, turned)] == ["order of params"]


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({"tasks": [{"task_id": "a", "retries": 1}, {"task_id": "b", "upstream": ["a"]}]}, ["retries of task 'a'"]),
        ({"tasks": [{"task_id": "a"}]}, ["tasks"]),
        ({"params": [{"name": "x", "value": 2}, {"name": "y"}]}, ["value of param 'x'"]),
        ({"line": 99}, []),
        ({"doc_md": "text"}, ["doc_md"]),
    ],
)
def test_differences_name_the_place(changes: dict[str, Any], places: list[str]) -> None:
    assert [str(one) for one in differences(BASE, _document(**changes))] == places


def test_the_line_is_that_of_the_task_or_else_of_the_dag() -> None:
    assert line_of(Field("tasks", "b", "retries"), BASE) == 6
    assert line_of(Field("start_date"), BASE) == 3


_VALUES = st.one_of(st.none(), st.integers(0, 3), st.text("ab", max_size=2))
_DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "description": _VALUES,
        "start_date": _VALUES,
        "tasks": st.lists(
            st.fixed_dictionaries({"task_id": st.sampled_from("abc")}, optional={"retries": _VALUES}),
            unique_by=lambda task: task["task_id"],
            max_size=3,
        ),
    },
)


@given(_DOCUMENTS, _DOCUMENTS)
def test_documents_differ_exactly_when_some_place_differs(one: dict[str, Any], other: dict[str, Any]) -> None:
    def plain(document: dict[str, Any]) -> dict[str, Any]:
        found = {name: value for name, value in document.items() if value not in (None, [])}
        found["tasks"] = [
            {name: value for name, value in task.items() if value is not None} for task in document.get("tasks", ())
        ]
        return found

    assert bool(list(differences(one, other))) == (plain(one) != plain(other))
    assert sorted(differences(one, other)) == sorted(differences(other, one))


@given(_DOCUMENTS, _DOCUMENTS, _DOCUMENTS)
def test_what_differs_only_where_it_is_unstable_is_no_version_without_an_edit(
    stored: dict[str, Any], parsed: dict[str, Any], again: dict[str, Any]
) -> None:
    unstable = set(differences(parsed, again))
    verdict = judge(stored, parsed, again, inputs_changed=False)
    if all(one in unstable for one in differences(stored, parsed)):
        assert not verdict.is_new
    assert unstable <= set(verdict.unstable)
