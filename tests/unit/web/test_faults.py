"""What a request is told that cannot be used: the field, what was found, what was expected, which name was meant."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from treadle_webserver.bulk import BulkBody
from treadle_webserver.faults import Fault, faults_of, names_at
from treadle_webserver.routes.dag_runs import RunPatch, RunQuery, TriggerBody
from treadle_webserver.routes.variables import VariableBody


def faults(kind: Any, value: Any, place: str = "body") -> list[Fault]:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(kind).validate_python(value)
    return faults_of([{**one, "loc": (place, *one["loc"])} for one in refused.value.errors()], {place: kind})


def sentence(kind: Any, value: Any, place: str = "body") -> str:
    return faults(kind, value, place)[0].sentence


def test_an_unknown_field_is_named_with_the_one_that_was_meant_and_all_there_are() -> None:
    assert (
        sentence(RunPatch, {"sate": "failed"}) == "unknown field 'sate'; did you mean 'state'? (expected note, state)"
    )
    assert sentence(RunQuery, {"limt": 3}, "query").startswith("unknown query parameter 'limt'; did you mean 'limit'?")


def test_an_unknown_field_deep_in_a_body_is_one_of_its_own_model() -> None:
    body = {"actions": [{"action": "create", "entities": [{"key": "a", "value": 1, "vlaue": 2}]}]}
    told = sentence(BulkBody[VariableBody], body)
    assert "'actions.0.create.entities.0.vlaue'; did you mean 'value'? (expected description, key" in told
    wrong = {"actions": [{"action": "delete", "entities": [], "action_on_existence": "fail"}]}
    assert "did you mean 'action_on_non_existence'?" in sentence(BulkBody[VariableBody], wrong)
    assert names_at(TriggerBody, ["conf", "x"])  # a free object: the names around it, for want of better ones


def test_what_was_found_is_told_by_its_kind_and_never_repeated_from_a_body() -> None:
    (fault,) = faults(RunPatch, {"state": "hunter2"})
    assert (
        fault.sentence == "field 'state': Input should be 'queued', 'success' or 'failed'; found a text of 7 characters"
    )
    assert (fault.what, fault.which, fault.entry["found"]) == ("field", "state", "a text of 7 characters")
    for value, kind in ((3, "a number"), (True, "a boolean"), ([1], "a list of 1"), ({}, "an object of 0 fields")):
        assert sentence(RunPatch, {"note": value}).endswith(f"found {kind}")
    assert sentence(RunQuery, {"limit": "many"}, "query").endswith("; found 'many'")


def test_missing_things_and_a_body_that_is_no_json_are_told() -> None:
    assert sentence(VariableBody, {"value": 1}) == "field 'key' is missing"
    broken = {
        "type": "json_invalid",
        "loc": ("body", 9),
        "msg": "JSON decode error",
        "ctx": {"error": "Expecting value"},
    }
    cut = {**broken, "loc": ("body", 1), "ctx": {"error": "Unterminated string starting at"}}
    absent = {"type": "missing", "loc": ("body",), "msg": "Field required"}
    assert [one.sentence for one in faults_of([broken, cut, absent], {})] == [
        "the body is no JSON: Expecting value at character 9; expected a JSON object",
        "the body is no JSON: Unterminated string starting at character 1; expected a JSON object",
        "the body is missing",
    ]
