"""Lays a DAG's ``pod_override`` over the administrator's pod template. Pure.

The border between the two is one of security: a DAG's author must not reach another attempt's token, the node, or an
account that is not theirs. So an override may set only the fields that the options list, and nothing by which secrets
or the node's files come in; anything else is refused by name, not dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from treadle_executors.kubernetes.errors import PodRefused

Json = dict[str, Any]

BASE: Final = "base"
_HARMLESS_VOLUMES: Final = frozenset({"emptyDir", "persistentVolumeClaim", "configMap", "downwardAPI", "ephemeral"})
_KEYS: Final[Mapping[str, str]] = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
}
"""Lists whose items are merged by a key, as the cluster itself does; others are replaced."""

_HEADER: Final = frozenset({"apiVersion", "kind", "status"})
_RESERVED: Final = ("treadle", "TREADLE_")


def merged(template: Json, override: Any, allowed: Collection[str]) -> Json:
    """Return ``template`` with ``override`` laid over it.

    Raises:
        PodRefused: the override is no pod, or sets something that is not ``allowed``.
    """
    if not isinstance(override, Mapping):
        raise PodRefused(f"pod_override is {type(override).__name__}, expected a pod as a dict or a V1Pod")
    plain = {key: value for key, value in override.items() if key not in _HEADER}
    for path in _paths(plain):
        if not any(path == one or path.startswith(f"{one}.") for one in allowed):
            raise PodRefused(
                f"pod_override sets {path}, which is the administrator's; it may set: {', '.join(sorted(allowed))}"
            )
    _check_contents(plain, allowed)
    return _laid_over(template, plain)


def _paths(override: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields that an override sets, as the options name them."""
    for part, content in override.items():
        if not isinstance(content, Mapping):
            yield part
            continue
        for name, value in content.items():
            if part == "spec" and name == "containers":
                yield from _paths_of_containers(value)
            elif value is not None:
                yield f"{part}.{name}"


def _paths_of_containers(containers: Any) -> Iterator[str]:
    if not isinstance(containers, list) or not all(isinstance(one, Mapping) for one in containers):
        raise PodRefused("pod_override: spec.containers is no list of containers")
    for container in containers:
        # Clients that make whole objects name their only container as they like; it is the attempt's.
        if len(containers) > 1 and container.get("name") != BASE:
            yield f"spec.containers[{container.get('name')}]"
        yield from (f"spec.containers.{key}" for key, value in container.items() if key != "name" and value is not None)


def _check_contents(override: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Refuse ways in which allowed fields lead to what is not the author's."""
    for kind in ("labels", "annotations"):
        for key in (override.get("metadata") or {}).get(kind) or {}:
            if key.startswith(("treadle.dev/", "app.kubernetes.io/managed-by")):
                raise PodRefused(f"pod_override sets the {kind[:-1]} {key!r}, which is Treadle's own")
    spec = override.get("spec") or {}
    for volume in _dicts(spec.get("volumes")):
        kinds = {key for key, value in volume.items() if key != "name" and value is not None}
        if not kinds <= _HARMLESS_VOLUMES and "secrets" not in allowed:
            raise PodRefused(
                f"pod_override has the volume {volume.get('name')!r} of {', '.join(sorted(kinds))}; "
                f"allowed are {', '.join(sorted(_HARMLESS_VOLUMES))}"
            )
        _check_name("volume", volume.get("name"))
    for container in _dicts(spec.get("containers")):
        for one in _dicts(container.get("env")):
            _check_name("environment variable", one.get("name"))
            if one.get("valueFrom") is not None and "secrets" not in allowed:
                raise PodRefused(
                    f"pod_override gives the environment variable {one.get('name')!r} a valueFrom; it may give values "
                    "only, unless override_may has 'secrets'"
                )


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or name.startswith(_RESERVED):
        raise PodRefused(f"pod_override has the {what} {name!r}; names that begin with treadle are Treadle's own")


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise PodRefused(f"pod_override has {value!r:.100} where a list of objects belongs")
    return value


def _laid_over(below: Json, above: Mapping[str, Any]) -> Json:
    result = deepcopy(below)
    for key, value in above.items():
        if value is None:
            continue
        held = result.get(key)
        if isinstance(value, Mapping) and isinstance(held, dict):
            result[key] = _laid_over(held, value)
        elif key in _KEYS and isinstance(value, list) and isinstance(held, list):
            result[key] = _joined(held, value, _key_of(key, value))
        elif key == "tolerations" and isinstance(value, list) and isinstance(held, list):
            result[key] = [*held, *value]
        else:
            result[key] = deepcopy(value)
    return result


def _key_of(key: str, items: list[Any]) -> Callable[[Mapping[str, Any]], Any]:
    if key == "containers" and len(items) == 1:
        return lambda _: BASE
    return lambda one: one.get(_KEYS[key])


def _joined(below: list[Any], above: list[Any], key: Callable[[Mapping[str, Any]], Any]) -> list[Any]:
    names = [next(iter([one.get(field) for field in ("mountPath", "name") if field in one]), None) for one in below]
    result = list(below)
    for one in above:
        name = key(one)
        if name in names:
            position = names.index(name)
            kept = {"name": below[position]["name"]} if "image" in below[position] or name == BASE else {}
            result[position] = _laid_over(result[position], {**one, **kept})
        else:
            result.append(deepcopy(one))
    return result
