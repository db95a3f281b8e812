"""The compose file is one that Compose takes, checked without an engine; and the check finds what it should."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from tests.support.compose_check import problems_of
from tests.support.compose_file import FILE


def content() -> dict[str, Any]:
    loaded = yaml.safe_load(FILE.read_text())
    assert isinstance(loaded, dict)
    return copy.deepcopy(loaded)  # anchors share what a test changes


def test_the_compose_file_is_in_order() -> None:
    assert problems_of(content()) == []


@pytest.mark.parametrize(
    ("service", "key", "value", "said"),
    [
        ("worker", "healthchek", {}, "unknown key 'healthchek'"),
        ("worker", "stop_grace_period", "40", "'40' is no duration"),
        ("worker", "depends_on", {"rediss": {"condition": "service_healthy"}}, "there is no service 'rediss'"),
        ("worker", "depends_on", {"redis": {"condition": "healthy"}}, "'healthy' of 'redis' is none of"),
        ("worker", "depends_on", {"migrate": {"condition": "service_healthy"}}, "'migrate' has no health check"),
        ("worker", "depends_on", {"redis": {"condition": "service_completed_successfully"}}, "it never completes"),
        ("worker", "environment", {"A": True}, "A is True: quote it"),
        ("worker", "environment", {"A": "5$"}, "write $$"),
        ("worker", "command", ["worker", 8], "no list of texts"),
        ("worker", "restart", "never", "'never' is none of"),
        ("worker", "init", "yes", "neither true nor false"),
        ("worker", "image", 7, "7 is no text"),
        ("webserver", "ports", [8080], "8080 is no ADDRESS:PORT:PORT"),
        ("webserver", "volumes", ["log:/logs"], "volume 'log' is not declared"),
        ("webserver", "volumes", ["/logs"], "'/logs' is no SOURCE:TARGET"),
        ("scheduler", "deploy", {"replicas": "2"}, "more than a number of replicas"),
        ("redis", "healthcheck", {"test": ["redis-cli", "ping"]}, "does not begin with CMD"),
        ("redis", "healthcheck", {"interval": "5 s", "retries": 0}, "interval '5 s' is no duration"),
    ],
)
def test_what_compose_would_refuse_is_found(service: str, key: str, value: Any, said: str) -> None:
    broken = content()
    broken["services"][service] = {**broken["services"][service], key: value}
    assert any(said in problem for problem in problems_of(broken))


def test_a_service_without_an_image_and_a_part_without_a_meaning_are_found() -> None:
    assert problems_of({"services": {"a b": {}}, "volume": {}}) == [
        "unknown part 'volume'",
        "service 'a b': its name has characters that none may have",
        "service 'a b': it has neither image nor build",
    ]
