"""What parameters a function has, read off its code object.

The standard library's ``inspect`` tells the same, but costs more to import than all of the SDK's authoring part and
some 30 microseconds per function; a DAG file has many functions and few exotic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any

_TAKES_ARGS = 0x04
_TAKES_KWARGS = 0x08


class Parameters:
    """The parameters of a plain Python function."""

    __slots__ = ("defaults", "keyword_only", "positional", "positional_only", "takes_args", "takes_kwargs")

    def __init__(self, function: FunctionType) -> None:
        code = function.__code__
        names = code.co_varnames
        self.positional = names[: code.co_argcount]
        self.positional_only = frozenset(names[: code.co_posonlyargcount])
        self.keyword_only = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self.takes_args = bool(code.co_flags & _TAKES_ARGS)
        self.takes_kwargs = bool(code.co_flags & _TAKES_KWARGS)
        given = function.__defaults__ or ()
        self.defaults: dict[str, Any] = dict(
            zip(self.positional[len(self.positional) - len(given) :], given, strict=True)
        )
        self.defaults.update(function.__kwdefaults__ or {})

    @property
    def names(self) -> tuple[str, ...]:
        """All named parameters, in order."""
        return self.positional + self.keyword_only

    @property
    def required(self) -> tuple[str, ...]:
        """The named parameters without a default, in order."""
        return tuple(name for name in self.names if name not in self.defaults)

    @property
    def by_name(self) -> frozenset[str]:
        """The parameters that can be given by name."""
        return frozenset(self.names) - self.positional_only

    def fault_of(self, args: Sequence[Any], kwargs: Collection[str]) -> str:
        """Return in words why the function cannot be called with ``args`` and ``kwargs``; empty if it can, so far.

        Missing arguments are no fault here: they may come later.
        """
        if len(args) > len(self.positional) and not self.takes_args:
            return f"it takes {len(self.positional)} positional arguments, {len(args)} are given"
        twice = [name for name in self.positional[: len(args)] if name in kwargs and name not in self.positional_only]
        return f"{twice[0]!r} is given twice" if twice else ""

    def missing(self, args: Sequence[Any], kwargs: Collection[str]) -> list[str]:
        """Return the required parameters that ``args`` and ``kwargs`` leave open."""
        taken = set(self.positional[: len(args)])
        return [name for name in self.required if name not in taken and name not in kwargs]

    def bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the named arguments of a call, defaults filled in."""
        return {**self.defaults, **dict(zip(self.positional, args, strict=False)), **kwargs}


def plain_function(function: Callable[..., Any]) -> FunctionType | None:
    """Return the function whose signature ``function`` shows, below decorators that tell ``__wrapped__``, or None."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function if isinstance(function, FunctionType) else None


def docstring(function: Callable[..., Any]) -> str | None:
    """Return the docstring without its indentation, or None."""
    text = getattr(function, "__doc__", None)
    if not isinstance(text, str) or not text.strip():
        return None
    first, *rest = text.expandtabs().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest)]).strip()
