"""What the host has to say to its executor: gathered during a turn of the loop, sent at the end of it.

Nothing waits to fill a batch: while the executor works on one frame, the next turns' frames pile up in the socket, and
the executor takes all of them into its next transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle_worker.frames import BrokenPeer, Message, encode
from treadle_worker.link import Link
from treadle_worker.outcomes import error_of
from treadle_worker.protocol import FinishReport, Heartbeat, StartReport


class Outgoing:
    """The reports of one turn."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.starts: list[StartReport] = []
        self.finishes: list[FinishReport] = []
        self.heartbeats: list[Heartbeat] = []

    def send(self, message: Message) -> None:
        """Send one message now."""
        self._link.send(encode(message))

    def flush(self) -> None:
        """Send what has gathered."""
        if self.starts:
            self._send_items("starts", self.starts)
            self.starts = []
        if self.finishes:
            self._send_finishes(self.finishes)
            self.finishes = []
        if self.heartbeats:
            self._send_items("heartbeats", self.heartbeats)
            self.heartbeats = []

    def _send_items(self, kind: str, items: Sequence[Any]) -> None:
        self._link.send(encode({"kind": kind, "items": items}))

    def _send_finishes(self, reports: list[FinishReport]) -> None:
        """Send finishes in as few frames as their size allows; what fits no frame becomes a failure."""
        try:
            self._send_items("finishes", reports)
        except BrokenPeer as error:
            if len(reports) > 1:
                half = len(reports) // 2
                self._send_finishes(reports[:half])
                self._send_finishes(reports[half:])
                return
            failure = error_of("protocol", "ResultTooLarge", f"the result of the attempt cannot be sent: {error}")
            failed: FinishReport = {**reports[0], "outcome": "failed", "error": failure, "rendered_fields": None}
            self._send_finishes([{**failed, "xcoms": [], "asset_events": []}])
