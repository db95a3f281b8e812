"""Connections and variables as tasks read them: where they come from, and what they can hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runtime.attempts import Answers

from treadle.connections import Connection
from treadle.errors import (
    ConnectionFormatError,
    ConnectionNotFoundError,
    NotInTaskError,
    VariableNotFoundError,
    VariableValueError,
)
from treadle.runtime import current, masking
from treadle.runtime.context import get_current_context
from treadle.runtime.supervisor import Supervisor
from treadle.variable import Variable

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
maybe = st.none() | text


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    masking.MASKER.clear()
    yield
    masking.MASKER.clear()


@given(
    host=maybe.filter(lambda host: host is None or host.strip("[]") == host),
    schema=maybe,
    login=maybe,
    password=maybe,
    port=st.none() | st.integers(0, 65535),
    extra=st.none() | st.dictionaries(text, st.text() | st.integers() | st.none(), min_size=1).map(json.dumps),
)
def test_a_connection_comes_back_from_its_uri_and_its_json(**fields: str | int | None) -> None:
    connection = Connection("c", conn_type="my_type", **fields)  # type: ignore[arg-type]
    assert Connection.from_json(connection.as_json(), "c") == connection
    back = Connection.from_uri(connection.get_uri(), "c")
    assert back.extra_dejson == connection.extra_dejson
    assert {**back.to_dict(), "extra": None} == {**connection.to_dict(), "extra": None}


def test_a_uri_gives_its_parts() -> None:
    uri = "postgresql://u%40x:p%2Fw@db.host:5433/sales?sslmode=require&x=1"
    assert Connection("pg", uri=uri).to_dict() == {
        "conn_id": "pg",
        "conn_type": "postgres",
        "description": None,
        "host": "db.host",
        "schema": "sales",
        "login": "u@x",
        "password": "p/w",
        "port": 5433,
        "extra": '{"sslmode": "require", "x": "1"}',
    }


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("postgres://u:sesame@h:notaport/d", "URI cannot be read"),
        ("no scheme", "has no type"),
        ('{"host": }', "JSON cannot be read"),
        ("[1]", "has no type"),
        ('{"hots": "x"}', "unknown field 'hots'"),
        ('{"port": 70000}', "port 70000"),
        ('{"uri": "a://b", "host": "h"}', "both uri and host"),
    ],
)
def test_a_connection_that_cannot_be_read_says_why_and_shows_no_secret(
    source: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_CONN_BAD", source)
    with pytest.raises(ConnectionFormatError, match="connection 'bad' cannot be used") as caught:
        Connection.get("bad")
    assert words in str(caught.value)
    assert "sesame" not in str(caught.value)


def test_a_given_connection_comes_before_the_environment_and_that_before_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = Answers(connections={"c": {"host": "server"}})
    with current.attempt(cast("Supervisor", answers), None):
        assert Connection.get("c").host == "server"
        monkeypatch.setenv("TREADLE_CONN_C", "x://environment")
        assert Connection.get("c").host == "environment"
        with current.given({}, {"c": {"host": "given"}}):
            assert Connection.get("c").host == "given"


def test_a_fetched_password_is_masked_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_CONN_C", "x://u:sesame-9@h")
    assert masking.mask("sesame-9") == "sesame-9"
    connection = Connection.get("c")
    assert masking.mask("sesame-9") == masking.MASK
    assert "sesame" not in repr(connection)


def test_a_missing_connection_says_how_to_make_it() -> None:
    with pytest.raises(ConnectionNotFoundError, match="TREADLE_CONN_NOWHERE"):
        Connection.get("nowhere")


def test_a_variable_comes_from_the_environment_before_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(variables={"place": "server", "data": '{"a": [1]}'})
    with current.attempt(cast("Supervisor", answers), None):
        assert Variable.get("place") == "server"
        assert Variable.get("data", deserialize_json=True) == {"a": [1]}
        monkeypatch.setenv("TREADLE_VAR_PLACE", "environment")
        assert Variable.get("place") == "environment"


def test_a_missing_variable_is_an_error_unless_there_is_a_default() -> None:
    assert Variable.get("nothing", default=None) is None
    assert Variable.get("nothing", 5) == 5
    with pytest.raises(VariableNotFoundError, match=r"there is no variable 'nothing'.*TREADLE_VAR_NOTHING"):
        Variable.get("nothing")


def test_a_variable_that_is_not_json_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_VAR_X", "{")
    with pytest.raises(VariableValueError, match="variable 'x' is not JSON"):
        Variable.get("x", deserialize_json=True)


def test_variables_can_be_set_and_deleted_by_a_task() -> None:
    answers = Answers()
    with current.attempt(cast("Supervisor", answers), None):
        Variable.set("a", 5)
        Variable.set("api_token", {"k": "sesame-8"}, serialize_json=True)
        assert Variable.get("a") == "5"
        assert Variable.get("api_token", deserialize_json=True) == {"k": "sesame-8"}
        Variable.delete("a")
        Variable.delete("a")
        assert Variable.get("a", None) is None
    assert masking.mask("sesame-8") == masking.MASK


def test_outside_a_task_there_is_nothing_to_set_and_no_context() -> None:
    with pytest.raises(NotInTaskError, match="Variable"):
        Variable.set("a", "b")
    with pytest.raises(NotInTaskError, match="get_current_context"):
        get_current_context()
