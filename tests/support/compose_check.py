"""What ``docker compose config`` would refuse in a compose file, and what goes unnoticed until a container starts.

Written from the Compose specification, for the parts of it that a file of ours may use: a name that is not listed here
is a problem, be it a slip or something new that this check has to learn first. No engine is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

_DURATION: Final = re.compile(r"(?=\d)(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+ms)?(\d+us)?")
_VARIABLE: Final = re.compile(r"\$(?:\$|\{[A-Za-z_]\w*(?::?[-?+][^}]*)?\}|[A-Za-z_]\w*)")
_PORT: Final = re.compile(r"(\d+\.\d+\.\d+\.\d+:)?(\d+:)?\d+(/(tcp|udp))?")
_VOLUME: Final = re.compile(r"(?P<source>[^:]+):(?P<target>/[^:]*)(:(ro|rw))?")
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
_CONDITIONS: Final = ("service_started", "service_healthy", "service_completed_successfully")
_RESTARTS: Final = ("no", "always", "on-failure", "unless-stopped")


def problems_of(content: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the content of a compose file, one sentence each."""
    found = [f"unknown part {name!r}" for name in content if name not in _PARTS and not name.startswith("x-")]
    services = content.get("services") or {}
    for name, service in services.items():
        found += [f"service {name!r}: {problem}" for problem in _of_service(name, service, content)]
    found += [f"variable: {problem}" for problem in _of_variables(content)]
    return found


def _of_service(name: str, service: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[str]:
    if not _NAME.fullmatch(name):
        yield "its name has characters that none may have"
    if not {"image", "build"} & service.keys():
        yield "it has neither image nor build"
    for key, value in service.items():
        check = _CHECKS.get(key)
        if check is None:
            yield f"unknown key {key!r}"
        else:
            yield from (f"{key}: {problem}" for problem in check(value, content))


def _text(value: Any, _: object) -> Iterator[str]:
    if not isinstance(value, str) or not value:
        yield f"{value!r} is no text"


def _truth(value: Any, _: object) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{value!r} is neither true nor false"


def _command(value: Any, _: object) -> Iterator[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        yield f"{value!r} is no list of texts (numbers need quotes)"


def _environment(value: Any, _: object) -> Iterator[str]:
    for name, one in value.items():
        if isinstance(one, bool | float | list | dict) or one is None:
            yield f"{name} is {one!r}: quote it"


def _restart(value: Any, _: object) -> Iterator[str]:
    if value not in _RESTARTS:
        yield f"{value!r} is none of {', '.join(_RESTARTS)}"


def _duration(value: Any, _: object) -> Iterator[str]:
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        yield f"{value!r} is no duration such as 1m30s"


def _health(value: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[str]:
    for key, one in value.items():
        if key == "test":
            if not isinstance(one, list) or one[0] not in ("CMD", "CMD-SHELL", "NONE") or len(one) < 2:
                yield f"test {one!r} does not begin with CMD or CMD-SHELL and a command"
        elif key == "retries":
            if not isinstance(one, int) or one < 1:
                yield f"retries {one!r} is no positive number"
        elif key in ("interval", "timeout", "start_period", "start_interval"):
            yield from (f"{key} {problem}" for problem in _duration(one, content))
        else:
            yield f"unknown key {key!r}"


def _depends(value: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[str]:
    for name, how in value.items():
        other = content["services"].get(name)
        if other is None:
            yield f"there is no service {name!r}"
        elif how.get("condition") not in _CONDITIONS:
            yield f"condition {how.get('condition')!r} of {name!r} is none of {', '.join(_CONDITIONS)}"
        elif how["condition"] == "service_healthy" and "healthcheck" not in other:
            yield f"{name!r} has no health check, so it never becomes healthy"
        elif how["condition"] == "service_completed_successfully" and other.get("restart") in (
            "always",
            "unless-stopped",
        ):
            yield f"{name!r} is started again when it ends, so it never completes"


def _ports(value: Any, _: object) -> Iterator[str]:
    for one in value:
        if not isinstance(one, str) or not _PORT.fullmatch(one):
            yield f"{one!r} is no ADDRESS:PORT:PORT in quotes"


def _volumes(value: Any, content: Mapping[str, Any]) -> Iterator[str]:
    for one in value:
        parsed = _VOLUME.fullmatch(one)
        if parsed is None:
            yield f"{one!r} is no SOURCE:TARGET"
        elif parsed["source"][0] not in "./~" and parsed["source"] not in (content.get("volumes") or {}):
            yield f"volume {parsed['source']!r} is not declared"


def _deploy(value: Mapping[str, Any], _: object) -> Iterator[str]:
    if set(value) != {"replicas"} or not isinstance(value["replicas"], int):
        yield f"{value!r} is more than a number of replicas"


_Check = Callable[[Any, Mapping[str, Any]], Iterator[str]]
_PARTS: Final = ("services", "volumes", "networks", "name")
_CHECKS: Final[Mapping[str, _Check]] = {
    "build": _text,
    "command": _command,
    "depends_on": _depends,
    "deploy": _deploy,
    "environment": _environment,
    "healthcheck": _health,
    "image": _text,
    "init": _truth,
    "ports": _ports,
    "restart": _restart,
    "stop_grace_period": _duration,
    "volumes": _volumes,
}


def _of_variables(value: Any) -> Iterator[str]:
    """Yield what Compose could not put in: a dollar sign that begins no variable."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _of_variables(one)
    elif isinstance(value, list):
        for one in value:
            yield from _of_variables(one)
    elif isinstance(value, str) and "$" in _VARIABLE.sub("", value):
        yield f"{value!r} has a dollar sign that is none: write $$"
