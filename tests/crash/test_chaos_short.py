"""The short form of ``python -m bench chaos``: every kind of fault once, under load, and a history without a fault.

It runs in a process of its own, which ends everything below it whatever happens.
"""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support import code

COMMAND = (sys.executable, "-m", "bench", "chaos", "--minutes", "0.2", "--settle", "60")
MOST_SECONDS = 150
"""For a busy machine; it takes about 25."""


def test_nothing_is_lost_done_twice_or_too_much_when_everything_breaks() -> None:
    process = subprocess.Popen(COMMAND, cwd=code.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, progress = process.communicate(timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        _, progress = process.communicate()
        raise AssertionError(f"chaos did not come to its end: {progress[-2000:]}") from None
    assert process.returncode == 0, progress[-4000:]
    figures = json.loads(out)["figures"]
    assert figures["violations"] == 0
    assert figures["executions"] > 50
    assert figures["kill_scheduler"] + figures.get("kill_host", 0) >= 1
