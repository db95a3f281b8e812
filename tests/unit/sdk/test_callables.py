"""What is read off code objects is what the standard library's inspect tells."""

from __future__ import annotations

import functools
import inspect
import json
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from treadle.callables import Parameters, docstring, plain_function


def nothing() -> None: ...
def positional(a: int, b: int = 2, /, c: int = 3) -> None: ...
def everything(a: int, /, b: int, c: int = 3, *args: int, d: int, e: int = 5, **kwargs: int) -> None:
    local = a
    del local


@functools.wraps(everything)
def wrapped(*args: Any, **kwargs: Any) -> None: ...


@pytest.mark.parametrize(
    "function", [nothing, positional, everything, wrapped, lambda x, *, y=1: (x, y), textwrap.dedent]
)
def test_parameters_are_those_of_the_signature(function: Callable[..., Any]) -> None:
    plain = plain_function(function)
    assert plain is not None
    found, told = Parameters(plain), list(inspect.signature(function).parameters.values())
    named = [one for one in told if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    assert found.names == tuple(one.name for one in named)
    assert found.required == tuple(one.name for one in named if one.default is one.empty)
    assert found.by_name == {one.name for one in named if one.kind is not one.POSITIONAL_ONLY}
    assert found.takes_args == any(one.kind is one.VAR_POSITIONAL for one in told)
    assert found.takes_kwargs == any(one.kind is one.VAR_KEYWORD for one in told)
    assert found.defaults == {one.name: one.default for one in named if one.default is not one.empty}


@pytest.mark.parametrize("function", [textwrap.dedent, json.dumps, functools.wraps, inspect.signature, pytest.raises])
def test_docstrings_lose_their_indentation(function: Callable[..., Any]) -> None:
    told = inspect.getdoc(function)
    assert told is not None
    assert docstring(function) == "\n".join(line.rstrip() for line in told.strip().splitlines())


def test_classes_and_builtins_are_no_plain_functions() -> None:
    assert plain_function(int) is None
    assert plain_function(print) is None


def test_faults_of_a_call_are_told_in_words() -> None:
    plain = plain_function(positional)
    assert plain is not None
    parameters = Parameters(plain)
    assert parameters.fault_of([1, 2, 3, 4], ()) == "it takes 3 positional arguments, 4 are given"
    assert parameters.fault_of([1, 2, 3], ("c",)) == "'c' is given twice"
    assert parameters.fault_of([1], ("c",)) == ""
    assert parameters.missing([], ("c",)) == ["a"]
