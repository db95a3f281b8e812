"""What is wrong with a request, in words: which field, what was found there, what was expected, which name is meant.

Called by ``errors`` with what pydantic found and the models of the route. Pure. Values that were sent are never
repeated, since any of them may be a password; of those in the address, which everybody's log has, the beginning is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from treadle.wording import did_you_mean, shown
from treadle_webserver.problems import FieldErrorShape

_SHOWN: Final = 200
_MOST_NAMES: Final = 30
_PLACES: Final = {"path": "part of the address", "query": "query parameter", "header": "header", "body": "field"}
_IN_ADDRESS: Final = ("path", "query")
_KINDS: Final = {bool: "a boolean", int: "a number", float: "a number", str: "a text", type(None): "null"}


class Fault(NamedTuple):
    """A fault: what it is about, the sentence, and the entry of it among the answer's ``errors``."""

    what: str
    which: str
    sentence: str
    entry: FieldErrorShape


def faults_of(errors: Iterable[Mapping[str, Any]], models: Mapping[str, Any]) -> list[Fault]:
    """Return the faults of a request; ``models`` are the annotations of its ``body`` and ``query``, if it has any."""
    return [_fault(one, models) for one in errors]


def _fault(error: Mapping[str, Any], models: Mapping[str, Any]) -> Fault:
    loc = [part if isinstance(part, int) else str(part)[:_SHOWN] for part in error["loc"]]
    place, path = (str(loc[0]), loc[1:]) if loc else ("request", [])
    if error["type"] == "json_invalid":
        return _no_json(error, place, path)
    what = _PLACES.get(place, "part") if path else place
    which = ".".join(map(str, path))
    expected, found = str(error["msg"]).removeprefix("Value error, ")[:_SHOWN], _found(error, place)
    if error["type"] == "extra_forbidden" and path:
        known = names_at(models.get(place), path[:-1])
        expected = _listed(known) if known else "no such name"
        sentence = f"unknown {what} {shown(which)}{did_you_mean(str(path[-1]), known)}"
        sentence += f" ({expected})" if known else ""
        found = None
    elif error["type"] == "missing":
        sentence, found = f"{what} {shown(which)} is missing" if which else f"the {what} is missing", None
    else:
        about = f"{what} {shown(which)}" if which else what
        sentence = f"{about}: {expected}" + (f"; found {found}" if found else "")
    entry: FieldErrorShape = {"loc": loc, "msg": expected, "type": error["type"]}
    if found:
        entry["found"] = found
    return Fault(what, which, sentence, entry)


def _no_json(error: Mapping[str, Any], place: str, path: Sequence[int | str]) -> Fault:
    # "Unterminated string starting at" of the standard library goes on with the place by itself.
    why = str((error.get("ctx") or {}).get("error", ""))[:_SHOWN].removesuffix(" at")
    at = f" at character {path[0]}" if path and isinstance(path[0], int) else ""
    sentence = f"the {place} is no JSON: {why or 'it cannot be read'}{at}; expected a JSON object"
    entry: FieldErrorShape = {"loc": [place, *path], "msg": f"{why or 'JSON'}{at}", "type": str(error["type"])}
    return Fault(place, "", sentence, entry)


def _found(error: Mapping[str, Any], place: str) -> str | None:
    """Return what was sent, by its kind, and by its value only if that stands in the address."""
    if "input" not in error:
        return None
    value = error["input"]
    if place in _IN_ADDRESS:
        return shown(value)
    if isinstance(value, str):
        return f"a text of {len(value)} characters" if value else "an empty text"
    if isinstance(value, Mapping):
        return f"an object of {len(value)} fields"
    if isinstance(value, Sequence):
        return f"a list of {len(value)}"
    return _KINDS.get(type(value))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"expected {', '.join(names[:_MOST_NAMES])}{more}"


def names_at(annotation: Any, path: Sequence[int | str]) -> list[str]:
    """Return the names of the fields that an object at ``path`` within a model may have; empty if it takes any."""
    models = set(_models_in(annotation))
    for part in path:
        inner = {model for one in models for model in _models_of_field(one, part)}
        # A number is a place in a list, and the name of a variant stands in no model: both lead no deeper.
        if inner:
            models = _of_variant(inner, path)
    return sorted({field.alias or name for model in models for name, field in model.model_fields.items()})


def _of_variant(models: set[type[BaseModel]], path: Sequence[int | str]) -> set[type[BaseModel]]:
    """Return those variants that ``path`` goes through by their tag, all of them if it names none."""
    chosen = {one for one in models if any(part in path for part in _tags(one))}
    return chosen or models


def _tags(model: type[BaseModel]) -> Iterator[str]:
    field = model.model_fields.get("action")
    if field is not None:
        yield from (one for one in get_args(field.annotation) if isinstance(one, str))


def _models_of_field(model: type[BaseModel], name: int | str) -> Iterator[type[BaseModel]]:
    for own, field in model.model_fields.items():
        if name in (own, field.alias):
            yield from _models_in(field.annotation)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is Annotated:
        yield from _models_in(get_args(annotation)[0])
    else:
        for inner in get_args(annotation):
            yield from _models_in(inner)
