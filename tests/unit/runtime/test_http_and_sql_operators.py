"""Tasks that call endpoints and run SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.sensors.test_builtin_sensors import endpoint

from treadle import DAG, DagError, HttpOperator, SQLExecuteQueryOperator
from treadle.runtime.dag_test_result import TaskResult


def ran(kind: type[Any], connections: dict[str, Any], **arguments: Any) -> TaskResult:
    with DAG("d") as dag:
        kind(task_id="do", **arguments)
    return dag.test(connections=connections).task("do")


@pytest.mark.parametrize(
    ("arguments", "state", "value"),
    [
        ({"endpoint": "/200", "data": {"day": "{{ dag.dag_id }}"}}, "success", "/200?day=d Bearer secret"),
        ({"endpoint": "/200", "response_filter": lambda response, dag: [dag.dag_id, response.status_code]}, "success",
         ["d", 200]),
        ({"endpoint": "/404"}, "failed", None),
        ({"endpoint": "/200", "response_check": lambda response: "no" in response.text}, "failed", None),
    ],
)  # fmt: skip
def test_an_answer_is_the_result_unless_it_is_not_good(arguments: dict[str, Any], state: str, value: Any) -> None:
    with endpoint() as connection:
        found = ran(HttpOperator, {"web": connection}, http_conn_id="web", method="GET", **arguments)
    assert (found.state, found.value) == (state, value)
    assert "secret" not in found.message


def test_statements_run_in_one_transaction_with_parameters_that_stay_values(tmp_path: Path) -> None:
    connections = {"db": {"conn_type": "sqlite", "host": str(tmp_path / "x.db")}}

    def run(sql: Any, **arguments: Any) -> TaskResult:
        return ran(SQLExecuteQueryOperator, connections, conn_id="db", sql=sql, **arguments)

    assert run(["CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "SELECT a FROM t"]).value == [[1]]
    attack = "'; DROP TABLE t; --"
    assert run("INSERT INTO t VALUES (:a)", parameters={"a": attack}).state == "success"
    assert run(["INSERT INTO t VALUES (3)", "SELECT no FROM t"]).state == "failed"
    assert run("SELECT a FROM t ORDER BY rowid").value == [[1], [attack]]
    assert run(["SELECT 1", "SELECT 2"], return_last=False).value == [[[1]], [[2]]]
    assert run("SELECT 1 AS a", handler=lambda cursor: [one[0] for one in cursor.description]).value == ["a"]
    assert run(["INSERT INTO t VALUES (4)", "SELECT no FROM t"], autocommit=True).state == "failed"
    assert run("SELECT count(*) FROM t").value == [[3]]


def test_no_statement_is_refused() -> None:
    with pytest.raises(DagError, match="a statement, or a list"), DAG("d"):
        SQLExecuteQueryOperator(task_id="do", conn_id="db", sql=[])
