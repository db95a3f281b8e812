"""Makes a trigger from the path of its class and the text of its arguments: in a triggerer, and in ``dag.test()``."""

from __future__ import annotations

import importlib
from typing import Any

from treadle import xcom
from treadle.triggers.base import BaseTrigger


def made(classpath: str, kwargs: str) -> BaseTrigger:
    """Return the trigger; what its module or its constructor raises goes through.

    Raises:
        ImportError: the module has no such class.
        TypeError: it is no trigger.
    """
    return make(class_of(classpath), kwargs)


def make(kind: Any, kwargs: str) -> BaseTrigger:
    """Return the trigger of a class and the text of its arguments.

    Raises:
        TypeError: the class is no trigger.
    """
    trigger = kind(**xcom.loads(kwargs))
    if not isinstance(trigger, BaseTrigger):
        raise TypeError(f"{kind!r} is no trigger: it must be a subclass of treadle.triggers.BaseTrigger")
    return trigger


def class_of(classpath: str) -> Any:
    """Return the class at ``classpath``; its module is imported.

    Raises:
        ImportError: there is no such class.
    """
    module, _, name = classpath.rpartition(".")
    if not module:
        raise ImportError(f"{classpath!r} names no module; expected a path such as 'package.module.MyTrigger'")
    try:
        return getattr(importlib.import_module(module), name)
    except AttributeError:
        raise ImportError(f"module {module!r} has no class {name!r}") from None
