"""A variable or connection that is not there: the advice is one that can help where it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from tests.unit.runtime.attempts import Answers

from treadle import DAG, Connection, Variable, task
from treadle.errors import ConnectionNotFoundError, VariableNotFoundError
from treadle.runtime import current
from treadle.runtime.supervisor import Supervisor


def words_of(act: Callable[[], object]) -> str:
    with pytest.raises((VariableNotFoundError, ConnectionNotFoundError)) as caught:
        act()
    return str(caught.value)


def test_at_file_level_nobody_is_sent_to_the_database() -> None:
    words = words_of(lambda: Variable.get("place"))
    assert "variables set" not in words
    assert "imported without the database" in words
    for way in ("{{ var.value.place }}", "Variable.get inside a task", "TREADLE_VAR_PLACE", "default"):
        assert way in words, way

    words = words_of(lambda: Connection.get("warehouse"))
    assert "connections set" not in words
    for way in ("{{ conn.warehouse }}", "Connection.get inside a task", "TREADLE_CONN_WAREHOUSE"):
        assert way in words, way


def test_a_task_of_a_worker_is_sent_to_the_database() -> None:
    with current.attempt(cast("Supervisor", Answers()), {"test_mode": False}):
        assert "'treadle variables set'" in words_of(lambda: Variable.get("place"))
        assert "'treadle connections set'" in words_of(lambda: Connection.get("warehouse"))


def test_a_task_in_a_test_is_sent_to_what_the_test_is_given() -> None:
    with DAG("tested") as dag:

        @task
        def variable() -> None:
            Variable.get("place")

        @task
        def connection() -> None:
            Connection.get("warehouse")

        variable()
        connection()
    result = dag.test()
    assert "variables={'place': ...} or --variable-file" in result.task("variable").message
    assert "connections={'warehouse': ...} or --conn-file" in result.task("connection").message
