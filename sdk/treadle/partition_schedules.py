"""Schedules by partitions: of assets whose events have keys, of a clock, or of none.

DAG files give them as ``schedule=``; the documents are read by the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from treadle.asset_conditions import words
from treadle.assets import AssetExpression, NamedAsset, schedule_expression
from treadle.document import ScheduleDocument
from treadle.errors import InvalidArgumentError
from treadle.partition_documents import Partitioning, dumps
from treadle.partitions import DEFAULT_INPUT, IdentityMapper, PartitionMapper
from treadle.timetables.cron import CronTriggerTimetable


class PartitionedAssetTimetable:
    """Makes a run for each key whose assets are complete: the condition is asked for every key by itself.

    An event's key goes through the mapper of its asset (``partition_mapper_config``) or the default one. An event
    without a key belongs to no partition and makes no run.

    Raises:
        DagError: ``assets`` are none, or a mapper is not one of Treadle's.
    """

    def __init__(
        self,
        assets: Any,
        *,
        partition_mapper_config: Mapping[NamedAsset, PartitionMapper] | None = None,
        default_partition_mapper: PartitionMapper | None = None,
    ) -> None:
        found = schedule_expression(assets)
        if found is None:
            expected = "an asset, a list of assets or an expression of assets"
            raise InvalidArgumentError(type(self).__name__, "assets", assets, expected)
        self.assets: AssetExpression = found
        own = {asset.key: mapper for asset, mapper in (partition_mapper_config or {}).items()}
        self._partitions = dumps(Partitioning(default_partition_mapper or IdentityMapper(), own))

    def named(self) -> Iterator[NamedAsset]:
        """Yield the assets, references and aliases in it."""
        yield from self.assets.named()

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        condition = self.assets.condition()
        summary = f"partitions of {words(condition)}"
        return ScheduleDocument(kind="assets", condition=condition, partitions=self._partitions, summary=summary)


class CronPartitionTimetable(CronTriggerTimetable):
    """A cron schedule whose runs are each for a partition: its key is the run's time in ``key_format``."""

    def __init__(self, cron: str, *, timezone: str, key_format: str = DEFAULT_INPUT, **arguments: Any) -> None:
        if not isinstance(key_format, str) or not key_format:
            raise InvalidArgumentError(type(self).__name__, "key_format", key_format, "a format of strftime")
        super().__init__(cron, timezone=timezone, **arguments)
        self._key_format = key_format

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return replace(super().to_document(), partition_key_format=self._key_format)


class PartitionedAtRuntime:
    """No schedule: the DAG runs when triggered; its tasks name partitions by ``outlet_events[...].add_partitions``."""

    def to_document(self) -> ScheduleDocument:
        """Return the plain form."""
        return ScheduleDocument(summary="partitions set at run time")
