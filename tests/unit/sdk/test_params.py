"""Params: defaults, schemas, the merge order, and confs checked by servers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle import DAG, Param, ParamError, ParamsDict
from treadle.params import checked_conf, json_value, merged_params


@pytest.mark.parametrize(
    ("param", "message"),
    [
        (Param("x", type="integer"), "'x' is not of type 'integer'"),
        (Param(0, minimum=1), "0 is less than the minimum of 1"),
        (Param("2025-13-01", type="string", format="date"), "is not a 'date'"),
        (Param("2025-01-01T00:00:00", type="string", format="date-time"), "is not a 'date-time'"),
        (Param({"a": ["x"]}, properties={"a": {"items": {"type": "integer"}}}), r"\['a'\]\[0\]: 'x' is not"),
        (Param(1, type="nonsense"), "its JSON schema is wrong"),
        (Param(), "has no default, and the run gives no value"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_place(param: Param, message: str) -> None:
    with pytest.raises(ParamError, match=f"param 'n': .*{message}"):
        param.resolve(name="n")


def test_values_that_fit_pass() -> None:
    assert Param(3, type=["null", "integer"]).resolve(None) is None
    assert Param("2025-01-01T00:00:00+00:00", format="date-time").resolve() == "2025-01-01T00:00:00+00:00"


@pytest.mark.parametrize("value", [datetime(2025, 1, 1, tzinfo=UTC), object(), float("nan"), {1: 2}])
def test_values_without_a_json_form_are_refused_at_once(value: Any) -> None:
    with pytest.raises(ParamError, match=r"JSON form|no strings"):
        Param(value)


def test_sets_become_sorted_lists() -> None:
    assert Param({"names": {"b", "a"}, "pair": (1, 2)}).value == {"names": ["a", "b"], "pair": [1, 2]}


def test_setting_a_plain_value_keeps_the_schema() -> None:
    params = ParamsDict({"n": Param(1, "how many", type="integer"), "plain": "x"})
    params["n"] = 2
    assert params["n"] == 2
    assert params.get_param("n").description == "how many"
    params["n"] = "many"
    with pytest.raises(ParamError, match="param 'n': 'many' is not of type 'integer'"):
        params.validate()


def test_the_runs_conf_lies_over_the_tasks_params_over_the_dags() -> None:
    dag = ParamsDict({"a": Param(1, type="integer"), "b": 1, "c": 1})
    merged = merged_params(dag, ParamsDict({"b": 2, "c": 2}), {"c": 3, "free": True})
    assert merged.validate() == {"a": 1, "b": 2, "c": 3, "free": True}
    assert dag.dump() == {"a": 1, "b": 1, "c": 1}


def test_servers_check_a_conf_against_the_document() -> None:
    documents = ParamsDict({"n": Param(type="integer"), "m": 5}).documents()
    assert checked_conf(documents, {"n": 2, "free": 1}) == {"n": 2, "m": 5}
    with pytest.raises(ParamError, match="param 'n': has no default"):
        checked_conf(documents, {})
    with pytest.raises(ParamError, match="param 'n': 'x' is not of type"):
        checked_conf(documents, {"n": "x"})


def test_params_of_default_args_are_merged_into_the_dags() -> None:
    assert DAG("d", default_args={"params": {"a": 1, "b": 1}}, params={"b": 2}).params.dump() == {"a": 1, "b": 2}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
    )
)
def test_json_stays_as_it_is(value: Any) -> None:
    assert json_value("x", value) == value
