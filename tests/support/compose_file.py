"""The compose file as the tests read it: services with their commands and environments, variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[2] / "docker-compose.yml"
_VARIABLE = re.compile(r"\$\{(\w+)(?::\?[^}]*)?\}")


@dataclass(frozen=True, slots=True)
class ComposeService:
    """One service."""

    name: str
    image: str
    command: list[str]
    environment: dict[str, str]
    after: dict[str, str]
    """The services that it waits for, each with the condition."""
    replicas: int
    health_check: list[str]
    """The command of its health check, without ``CMD``; none for one that ends by itself."""


def compose_services(variables: Mapping[str, str]) -> dict[str, ComposeService]:
    """Return the services in an order in which each comes after those that it waits for."""
    listed = yaml.safe_load(FILE.read_text())["services"]
    services = {name: _service(name, one, variables) for name, one in listed.items()}
    ordered: dict[str, ComposeService] = {}
    for name in services:
        for one in _with_those_before(name, services):
            ordered.setdefault(one.name, one)
    return ordered


def _with_those_before(name: str, services: Mapping[str, ComposeService]) -> Iterator[ComposeService]:
    for before in services[name].after:
        yield from _with_those_before(before, services)
    yield services[name]


def _service(name: str, given: Mapping[str, Any], variables: Mapping[str, str]) -> ComposeService:
    def filled(text: object) -> str:
        return _VARIABLE.sub(lambda found: variables[found[1]], str(text))

    return ComposeService(
        name=name,
        image=given["image"],
        command=[filled(one) for one in given.get("command", ())],
        environment={key: filled(value) for key, value in given.get("environment", {}).items()},
        after={key: one["condition"] for key, one in given.get("depends_on", {}).items()},
        replicas=given.get("deploy", {}).get("replicas", 1),
        health_check=given.get("healthcheck", {}).get("test", [])[1:],
    )
