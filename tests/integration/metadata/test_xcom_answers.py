"""What a task is answered when it asks for XComs: the same from the database as from a test in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection
from tests.support.scheduling import TestScheduler, a_dag

from treadle import xcom
from treadle.document import ExpandArgument, ExpandDocument, TaskDocument
from treadle.runtime.local_supervisor import LocalSupervisor
from treadle.runtime.supervisor import XComFound, XComQuestion
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows
from treadle_metadata.xcom_answers import found_xcoms

INSTANCES = 7
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text()
LEAVES |= st.sampled_from(["\0", "\\u0041", "\ud800", '"', datetime(2024, 1, 1, tzinfo=UTC), b"\0"])
KEYS = st.text(max_size=5) | st.integers(0, 9) | st.just("$type")
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=8,
)


class Stored:
    """One run whose task ``one`` pushed a value, and whose seven instances of ``many`` pushed their squares."""

    def __init__(self, database: Database, run_id: str) -> None:
        self.database = database
        with database.begin() as connection:
            self.run = rows(connection, "SELECT * FROM dag_run WHERE run_id = %(run_id)s", {"run_id": run_id})[0]

    def push(self, value: Any) -> str:
        """Let ``one`` have pushed ``value``, and return its text."""
        text, length = xcom.dumps(value)
        sql = """
            UPDATE xcom SET value = %(text)s, length = %(length)s FROM task_instance AS instance
            WHERE instance.id = xcom.task_instance_id AND instance.task_id = 'one'
        """
        with self.database.begin() as connection:
            assert execute(connection, sql, {"text": text, "length": length}) == 1
        return text

    def ask(self, question: XComQuestion) -> list[XComFound]:
        """Ask the database."""
        with self.database.begin() as connection:
            return self._found(connection, question)

    def _found(self, connection: Connection, question: XComQuestion) -> list[XComFound]:
        item = {
            "task_id": question.task_id,
            "key": question.key,
            "map_indexes": None if question.map_indexes is None else list(question.map_indexes),
            "offset": question.offset,
            "limit": question.limit,
            "item": question.item,
            "ask": question.ask,
        }
        return [XComFound(**one) for one in found_xcoms(connection, self.run, item)]


@pytest.fixture
def stored(database: Database, settings: Settings, clock: ManualClock) -> Stored:
    def outcome(workload: Any) -> dict[str, Any]:
        many = workload["task_id"] == "many"
        text = json.dumps(workload["map_index"] ** 2) if many else "[0]"
        return {"outcome": "success", "xcoms": [{"key": "return_value", "value": text, "length": None if many else 1}]}

    scheduler = TestScheduler(database, settings, clock, outcome)
    expand = ExpandDocument("product", (ExpandArgument("x", length=INSTANCES),))
    scheduler.install(a_dag("d", TaskDocument("one"), TaskDocument("many", expand=expand)))
    run_id = scheduler.trigger("d")
    scheduler.beats()
    return Stored(database, run_id)


def values(found: Sequence[XComFound]) -> list[tuple[int, Any]]:
    return [(one.map_index, xcom.loads(one.value)) for one in found]


def test_a_page_a_count_and_a_choice_of_instances(stored: Stored) -> None:
    assert values(stored.ask(XComQuestion("many", offset=2, limit=3))) == [(2, 4), (3, 9), (4, 16)]
    assert values(stored.ask(XComQuestion("many", offset=6, limit=3))) == [(6, 36)]
    assert values(stored.ask(XComQuestion("many", offset=7, limit=3))) == []
    assert values(stored.ask(XComQuestion("many", map_indexes=(5, 1, 9)))) == [(1, 1), (5, 25)]
    assert stored.ask(XComQuestion("many", ask="count")) == [XComFound(-1, "7")]
    assert stored.ask(XComQuestion("nobody", ask="count")) == [XComFound(-1, "0")]


def test_the_length_is_the_one_by_which_a_mapped_task_would_be_expanded(stored: Stored) -> None:
    assert stored.ask(XComQuestion("many", ask="length")) == [XComFound(-1, "7")]
    stored.push({"a": 1, "b": 2})
    assert stored.ask(XComQuestion("one", ask="length")) == [XComFound(-1, "2")]
    stored.push("a text")
    assert stored.ask(XComQuestion("one", ask="length")) == []


@pytest.mark.parametrize("value", [[5, None], (5, "x"), {"a": 1, "b": [2]}, {1: "x", (2, 3): "y"}, [{"$type": "z"}]])
def test_elements_are_taken_out_where_the_value_is_stored(stored: Stored, value: Any) -> None:
    stored.push(value)
    expected = list(value.items()) if isinstance(value, dict) else list(value)
    for index, one in enumerate(expected):
        assert values(stored.ask(XComQuestion("one", item=index))) == [(-1, one)]
    assert stored.ask(XComQuestion("one", item=len(expected))) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(value=VALUES, item=st.integers(0, 4))
def test_an_element_of_any_value_is_the_same_as_in_memory(stored: Stored, value: Any, item: int) -> None:
    text = stored.push(value)
    local = LocalSupervisor({}, {})
    local.keep("one", -1, [{"key": "return_value", "value": text}])
    (expected,) = local.get_xcoms([XComQuestion("one", item=item)])
    found = stored.ask(XComQuestion("one", item=item))
    assert values(found) == values(expected)
