"""A sensor that waits for an update of an asset, within a run that the clock or a person made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from treadle.errors import InvalidArgumentError, NotInTaskError
from treadle.moments import moment_of, utc_text
from treadle.runtime import current
from treadle.runtime.supervisor import AssetEventQuestion
from treadle.sensors.base import BaseSensor, PokeReturnValue


class AssetSensor(BaseSensor):
    """Waits for an event of ``asset`` (an ``Asset``, ``Asset.ref(...)``, an alias) that came ``since`` a moment.

    Without ``since`` (a datetime, ISO 8601 text, or a template) that is the start of the run's data interval, or when
    the run was due. ``partition_key`` (a template) asks for an event of that partition; ``event_check(event)`` may turn
    events down. The extra of the event that is found, the oldest one, is the task's XCom.
    """

    template_fields: Collection[str] = ("since", "partition_key")

    def __init__(
        self,
        *,
        asset: Any,
        since: datetime | str | None = None,
        partition_key: str | None = None,
        event_check: Callable[[Any], bool] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        if not isinstance(getattr(asset, "key", None), tuple):
            expected = "an Asset(...), Asset.ref(...) or AssetAlias(...)"
            raise InvalidArgumentError(repr(self), "asset", asset, expected, site=self.site)
        self.asset = asset
        self.since: Any = since
        self.partition_key = partition_key
        self.event_check = event_check

    def poke(self, context: Any) -> PokeReturnValue:
        """Ask for the events."""
        supervisor = current.supervisor()
        if supervisor is None:
            raise NotInTaskError(f"poke() of {self!r}")
        kind, name = self.asset.key
        found = supervisor.get_asset_events(AssetEventQuestion(kind, name, after=utc_text(self.moment(context))))
        event = next((one for one in found if self._fits(one)), None)
        return PokeReturnValue(event is not None, None if event is None else event["extra"])

    def moment(self, context: Any) -> datetime | None:
        """Return from when on events count."""
        run = context["dag_run"]
        return moment_of(self.since) or run.data_interval_start or run.run_after

    def _fits(self, event: Mapping[str, Any]) -> bool:
        if self.partition_key is not None and event.get("partition_key") != self.partition_key:
            return False
        if self.event_check is None:
            return True
        # Loaded on need, as everything about assets is.
        made = importlib.import_module("treadle.runtime.asset_events").event_of(event)
        return bool(self.event_check(made))
