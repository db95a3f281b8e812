"""Schedules made of assets: the documents of plain ones, and assets together with a clock.

Called through ``treadle.schedule`` when a DAG is turned into its document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from treadle.asset_conditions import words
from treadle.assets import AssetExpression, NamedAsset, schedule_expression
from treadle.document import ScheduleDocument
from treadle.errors import InvalidArgumentError


def assets_document(schedule: Any) -> ScheduleDocument:
    """Return the document of a schedule that is an asset, an expression of assets, or a list of them (all of them).

    Raises:
        ValueError: it holds something else.
    """
    expression = schedule_expression(schedule)
    if expression is None:
        raise ValueError("assets: Asset(...), AssetAlias(...), a list of them or an expression such as a & b")
    condition = expression.condition()
    return ScheduleDocument(kind="assets", condition=condition, summary=words(condition))


class AssetOrTimeSchedule:
    """Makes runs by a timetable, and besides whenever the assets have new events.

    The two do not touch each other: a run that the clock makes takes no events.
    """

    def __init__(self, *, timetable: Any, assets: Any) -> None:
        found = schedule_expression(assets)
        if found is None:
            expected = "an asset, a list of assets or an expression of assets"
            raise InvalidArgumentError(type(self).__name__, "assets", assets, expected)
        if not hasattr(timetable, "to_document"):
            raise InvalidArgumentError(type(self).__name__, "timetable", timetable, "a timetable")
        self.timetable = timetable
        self.assets: AssetExpression = found

    def named(self) -> Iterator[NamedAsset]:
        """Yield the assets, references and aliases in it."""
        yield from self.assets.named()

    def to_document(self) -> ScheduleDocument:
        """Return the timetable's document with the assets' condition."""
        timed: ScheduleDocument = self.timetable.to_document()
        condition = self.assets.condition()
        return replace(timed, condition=condition, summary=f"{timed.summary}, or {words(condition)}")
