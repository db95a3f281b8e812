"""Params: the values that a DAG's runs can be given, with defaults and JSON schemas.

Defaults stand in the DAG file; a task's own params lie over the DAG's, the run's ``conf`` over both; then all are
validated. jsonschema is loaded only when a param with a schema is checked (``treadle.param_validation``).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final

from treadle.errors import ParamError
from treadle.resolvable import Resolvable, Resolver

if TYPE_CHECKING:
    from treadle.dags import DAG
    from treadle.document import ParamDocument


class _NotSet:
    """There is no value; None is one."""

    def __repr__(self) -> str:
        return "NOTSET"


NOTSET: Final = _NotSet()


class Param:
    """One param: its default (none: each run must give a value), its description and its JSON schema as keywords.

    Example: ``Param(5, type="integer", minimum=1, description="Days to load")``.

    Raises:
        ParamError: the default is no JSON value. (Whether it fits the schema is checked with the DAG.)
    """

    __slots__ = ("description", "schema", "value")

    def __init__(self, default: Any = NOTSET, description: str | None = None, **schema: Any) -> None:
        self.value = default if default is NOTSET else json_value("default", default)
        self.description = description
        self.schema: dict[str, Any] = json_value("schema", schema)

    @property
    def has_value(self) -> bool:
        """Whether there is a default."""
        return self.value is not NOTSET

    def resolve(self, value: Any = NOTSET, *, name: str = "") -> Any:
        """Return ``value``, or the default, once it fits the schema.

        Raises:
            ParamError: there is no value, or it does not fit.
        """
        return checked(name, self.schema, self.value if value is NOTSET else value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Param) and (self.value, self.description, self.schema) == (
            other.value,
            other.description,
            other.schema,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Param({self.value!r})"


class ParamsDict(MutableMapping[str, Any]):
    """Params by name. Reading gives a param's value; setting a plain value keeps the param's schema."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        self._params: dict[str, Param] = {}
        self.update(params.params() if isinstance(params, ParamsDict) else params or {})

    def params(self) -> dict[str, Param]:
        """Return the params themselves."""
        return dict(self._params)

    def get_param(self, name: str) -> Param:
        """Return the param ``name`` itself; KeyError if there is none."""
        return self._params[name]

    def validate(self) -> dict[str, Any]:
        """Return all values, each checked against its schema.

        Raises:
            ParamError: one does not fit or is missing.
        """
        return {name: param.resolve(name=name) for name, param in self._params.items()}

    def dump(self) -> dict[str, Any]:
        """Return all values unchecked; a param without one gives None."""
        return {name: param.value if param.has_value else None for name, param in self._params.items()}

    def documents(self) -> tuple[ParamDocument, ...]:
        """Return the plain forms for the DAG's document, in definition order."""
        # Loaded on need: a task's process has no use for documents.
        kind: type[ParamDocument] = importlib.import_module("treadle.document").ParamDocument
        return tuple(
            kind(
                name=name,
                value=param.value if param.has_value else None,
                has_default=param.has_value,
                schema=param.schema,
                description=param.description,
            )
            for name, param in self._params.items()
        )

    def __getitem__(self, name: str) -> Any:
        param = self._params[name]
        if not param.has_value:
            raise ParamError(name, "has no default, and the run gives no value")
        return param.value

    def __setitem__(self, name: str, value: Any) -> None:
        if isinstance(value, Param):
            self._params[name] = value
            return
        known = self._params.get(name)
        try:
            self._params[name] = Param(value, known.description if known else None, **(known.schema if known else {}))
        except ParamError as error:
            raise ParamError(name, error.reason) from None

    def __delitem__(self, name: str) -> None:
        del self._params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __repr__(self) -> str:
        return f"ParamsDict({self.dump()!r})"


class DagParam(Resolvable):
    """A DAG param as an argument of tasks: known when they run (``dag.param(name)``, ``@dag`` arguments)."""

    __slots__ = ("name",)

    def __init__(self, dag: DAG, name: str, default: Any = NOTSET) -> None:
        self.name = name
        if default is not NOTSET or name not in dag.params:
            dag.params[name] = default if isinstance(default, Param) else Param(default)

    def resolve(self, resolver: Resolver) -> Any:
        """Return the run's value: its conf's, else the default."""
        return resolver.param(self.name)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"param {self.name!r} is not known while the file is parsed, so it cannot be looped over")

    def __str__(self) -> str:
        return f"{{{{ params[{self.name!r}] }}}}"

    def __repr__(self) -> str:
        return f"DagParam({self.name!r})"


def checked(name: str, schema: Mapping[str, Any], value: Any) -> Any:
    """Return ``value`` as JSON once it fits ``schema``.

    Raises:
        ParamError: it is missing (NOTSET), no JSON value, or does not fit.
    """
    if value is NOTSET:
        raise ParamError(name, "has no default, and the run gives no value")
    plain = json_value(name, value)
    if schema:
        # jsonschema costs more to import than all of the SDK; DAGs whose params have no schema never load it.
        importlib.import_module("treadle.param_validation").check(name, schema, plain)
    return plain


def merged_params(dag: Mapping[str, Any], task: Mapping[str, Any], conf: Mapping[str, Any] | None) -> ParamsDict:
    """Return the params of one task of one run: the DAG's, under the task's own, under the run's ``conf``."""
    merged = ParamsDict(dag)
    merged.update(task.params() if isinstance(task, ParamsDict) else task)
    for name, value in (conf or {}).items():
        merged[name] = value
    return merged


def checked_conf(params: Iterable[ParamDocument], conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of ``params`` for a run with ``conf``, each checked; servers call it before they make a run.

    Keys of ``conf`` that are no params are no error: conf is free.

    Raises:
        ParamError: a value does not fit its schema, or a param without default is not given.
    """
    return {
        one.name: checked(one.name, one.schema, conf.get(one.name, one.value if one.has_default else NOTSET))
        for one in params
    }


def json_value(name: str, value: Any) -> Any:
    """Return ``value`` as JSON has it: tuples become lists, sets sorted lists (case B11), keys strings.

    Raises:
        ParamError: something in it has no JSON form.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        if isinstance(value, float) and not -float("inf") < value < float("inf"):
            raise ParamError(name, f"{value!r} has no JSON form")
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ParamError(name, "a dict in it has keys that are no strings")
        return {key: json_value(name, item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((json_value(name, item) for item in value), key=_sort_key)
    if isinstance(value, (list, tuple)):
        return [json_value(name, item) for item in value]
    raise ParamError(
        name,
        f"a {type(value).__name__} has no JSON form; give a number, text, list or dict (a date as ISO 8601 text)",
    )


def _sort_key(value: Any) -> tuple[str, str]:
    """Sort JSON values of any kinds: by kind, then by their text."""
    return (type(value).__name__, repr(value))
