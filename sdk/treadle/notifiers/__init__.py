"""Notifiers: what tells people of the end of a task or run, or of a missed deadline.

A notifier stands wherever a callback can stand. Each class is in a module of its own, loaded when it is first named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.notifiers.base import BaseNotifier
    from treadle.notifiers.smtp import SmtpNotifier
    from treadle.notifiers.webhook import WebhookNotifier

__all__ = ["BaseNotifier", "SmtpNotifier", "WebhookNotifier"]

_HOMES = {"BaseNotifier": "base", "SmtpNotifier": "smtp", "WebhookNotifier": "webhook"}


def __getattr__(name: str) -> Any:
    # Lazy (PEP 562): a file that defines a notifier pays for neither mail nor HTTP.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"treadle.notifiers.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
