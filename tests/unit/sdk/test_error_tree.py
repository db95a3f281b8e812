"""The errors of the SDK: one class each, in the modules of errors, and the tree in ``treadle.errors`` is true."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import treadle
from treadle import Connection, Variable, errors, errors_of_waits
from treadle.triggers import deferral

MODULES = (errors, errors_of_waits, deferral)
TREE = re.compile(r"^(?P<stem>[│├└─ ]*)(?P<name>[A-Z]\w+)(?P<rest>.*)$", re.MULTILINE)


def drawn() -> Iterator[tuple[str, str]]:
    """The name of each class in the drawn tree, with that of the class it hangs from."""
    above: dict[int, str] = {}
    for found in TREE.finditer((errors.__doc__ or "").partition("\n\n")[2]):
        depth = len(found["stem"]) // 4
        base = re.match(r" \((\w+)\)", found["rest"])
        above[depth] = found["name"]
        yield found["name"], base[1] if base else above.get(depth - 1, "Exception")


def errors_below(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    for one in kind.__subclasses__():
        yield one
        yield from errors_below(one)


def imported() -> None:
    for module in pkgutil.walk_packages(treadle.__path__, "treadle."):
        importlib.import_module(module.name)


def test_the_tree_names_every_error_under_its_base() -> None:
    defined = {
        name: one.__bases__[0].__name__
        for module in MODULES
        for name, one in vars(module).items()
        if isinstance(one, type) and issubclass(one, BaseException) and one.__module__ == module.__name__
    }
    assert dict(drawn()) == defined


def test_no_other_module_of_the_sdk_defines_an_error_that_users_may_catch() -> None:
    imported()
    found = {*errors_below(errors.TreadleError), *errors_below(ValueError), *errors_below(LookupError)}
    elsewhere = {f"{one.__module__}.{one.__name__}" for one in found if one.__module__.startswith("treadle.")}
    known = tuple(f"{module.__name__}." for module in MODULES)
    assert {name for name in elsewhere if not name.startswith(known)} == set()


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda: Variable.get("none_such"), errors.VariableNotFoundError),
        (lambda: Variable.get("text", deserialize_json=True), errors.VariableValueError),
        (lambda: Connection.get("none_such"), errors.ConnectionNotFoundError),
        (lambda: Connection.from_json("[]", "c"), errors.ConnectionFormatError),
    ],
)
def test_what_is_raised_is_what_treadle_errors_names(
    act: object, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_VAR_TEXT", "{")
    with pytest.raises(kind):
        act()  # type: ignore[operator]
