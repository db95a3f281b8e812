"""The base of all notifiers. One is made in the DAG file and called where its event happens, as often as that does.

Called like any callback, with a context: its ``template_fields`` are rendered into a copy, whose ``notify`` is then
called. Awaited (by ``AsyncCallback``), ``async_notify`` is. Subclasses define one of the two.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Collection, Generator, Mapping
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import logging


def _asyncio() -> Any:
    # Loaded on need: it takes longer to load than all that a DAG file needs of the SDK.
    return importlib.import_module("asyncio")


class BaseNotifier:
    """Tells somebody of something. ``context`` is what an awaited notifier tells about."""

    template_fields: Collection[str] = ()
    """Attributes that are rendered as Jinja templates before ``notify``."""

    def __init__(self, *, context: Mapping[str, Any] | None = None) -> None:
        self.context = context

    def notify(self, context: Mapping[str, Any]) -> None:
        """Tell of what ``context`` says."""
        self._must_define_one()
        _asyncio().run(self.async_notify(context))

    async def async_notify(self, context: Mapping[str, Any]) -> None:
        """Tell of what ``context`` says, without holding up others in the same event loop."""
        self._must_define_one()
        await _asyncio().to_thread(self.notify, context)

    def _must_define_one(self) -> None:
        kind = type(self)
        if kind.notify is BaseNotifier.notify and kind.async_notify is BaseNotifier.async_notify:
            raise NotImplementedError(f"{kind.__name__} defines neither notify(context) nor async_notify(context)")

    @property
    def log(self) -> logging.Logger:
        """The notifier's logger: what it writes goes to the log of the attempt or callback that calls it."""
        # Loaded on need: files are parsed far more often than people are told of something.
        logger: logging.Logger = importlib.import_module("logging").getLogger(f"treadle.task.{type(self).__name__}")
        return logger

    def rendered(self, context: Mapping[str, Any]) -> Self:
        """Return a copy of the notifier whose template fields are rendered with ``context``."""
        made = copy.copy(self)
        made.context = context
        if self.template_fields:
            renderer = importlib.import_module("treadle.runtime.rendering").Renderer(
                context["dag"], context, None, native=False
            )
            for name in self.template_fields:
                setattr(made, name, renderer.render(getattr(self, name, None)))
        return made

    def __call__(self, context: Mapping[str, Any]) -> None:
        """Render the template fields and call ``notify``."""
        self.rendered(context).notify(context)

    def __await__(self) -> Generator[Any, None, None]:
        """Render the template fields and call ``async_notify`` with the context that the notifier was given."""
        context = self.context or {}
        return self.rendered(context).async_notify(context).__await__()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"
