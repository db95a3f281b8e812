"""The progress bar on a terminal, drawn by rich. ``treadle_cli.waiting`` imports this module when it draws one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


class RichBar:
    """One bar with a title, a count and a few words."""

    def __init__(self, drawn: Progress, task: TaskID) -> None:
        self._drawn = drawn
        self._task = task

    def update(self, done: int, total: int, text: str) -> None:
        """Show ``done`` of ``total`` and a few words."""
        self._drawn.update(self._task, completed=done, total=total, words=text)


@contextmanager
def shown(title: str) -> Iterator[RichBar]:
    """Draw a bar on standard error while the block lasts, and remove it then."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        yield RichBar(drawn, drawn.add_task(title, total=None, words=""))
