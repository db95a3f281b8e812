"""The version of the code that a task's steps consist of: a hash of what its function would really execute.

Taken from compiled code, not from files: comments, blank lines and other tasks of the file do not count, and a file
that was edited after it was imported cannot mislead. Another Python version compiles to other code, so it counts as a
change. Asked once per attempt that has steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_LENGTH = 16


def code_version(operator: Any) -> str:
    """Return the version of the code of a task: its function, and the functions of the same file and steps it names."""
    function = getattr(operator, "python_callable", None) or type(operator).execute
    known: dict[str, bytes] = {}
    function = getattr(function, "durable_function", function)  # a task that is one step
    _walk(getattr(function, "__func__", function), known)
    digest = hashlib.sha256()
    for name in sorted(known):
        digest.update(name.encode() + b"\0" + known[name])
    return digest.hexdigest()[:_LENGTH]


def _walk(function: Any, known: dict[str, bytes]) -> None:
    if not isinstance(function, FunctionType):
        return
    name = f"{function.__module__}.{function.__qualname__}"
    if name in known:
        return
    known[name] = _digest(function.__code__) + repr(_plain(function.__defaults__)).encode()
    for found in _named_in(function):
        behind = getattr(found, "durable_function", None)  # a step, from whatever module
        if behind is not None:
            _walk(behind, known)
        elif isinstance(found, FunctionType) and found.__module__ == function.__module__:
            _walk(found, known)


def _named_in(function: FunctionType) -> Iterator[Any]:
    """Return what the function's code may mean by its names: globals, what it closes over, attributes of modules."""
    names = set(_names(function.__code__))
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet: a name that is defined later
            continue
    for name in names:
        value = function.__globals__.get(name)
        yield value
        if isinstance(value, ModuleType):
            yield from (vars(value)[other] for other in names & vars(value).keys())


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _digest(code: CodeType) -> bytes:
    digest = hashlib.sha256(code.co_code)
    digest.update(repr((code.co_names, code.co_freevars, code.co_argcount, code.co_kwonlyargcount)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            digest.update(_digest(constant))
        else:
            digest.update(repr(_plain(constant)).encode())
    return digest.digest()


def _plain(value: Any) -> Any:
    """Return a constant in a form whose repr is the same in each process: sets are sorted, objects are types."""
    if isinstance(value, frozenset):
        return ("frozenset", sorted(map(repr, value)))
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value if value is None or isinstance(value, bool | int | float | complex | str | bytes) else type(value)
