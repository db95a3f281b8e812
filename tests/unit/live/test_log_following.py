"""A followed log: whoever may read it no more is sent no more of it, however long it is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from treadle_metadata.queries.log_windows import LineIndexes
from treadle_webserver.live import following
from treadle_webserver.live.following import LINES, Followed, follow


def test_a_long_log_is_sent_no_further_once_its_reader_may_read_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "ASK_SECONDS", 0.0)
    path = tmp_path / "log"
    path.write_text("".join(json.dumps({"text": str(number)}) + "\n" for number in range(20 * LINES)))
    asked: list[int] = []

    def has_ended() -> bool:
        asked.append(1)
        return True

    async def sent() -> list[bytes]:
        log = Followed("log", lambda: path, has_ended, dict)
        # The third answer is that this reader's rights are gone.
        return [one async for one in follow(log, LineIndexes(), 0, lambda: len(asked) >= 3)]

    assert len(asyncio.run(sent())) == 3
