"""What is run for practice before a fork comes to its end: a rehearsal that fails warms little, and says nothing."""

from __future__ import annotations

import subprocess
import sys

REHEARSALS = """
import os, sys
out, environment = sys.stdout, dict(os.environ)
from treadle_worker.rehearsal import rehearse
came_to = rehearse()
from treadle_worker.rehearsed_transaction import rehearse_transaction
came_to += rehearse_transaction()
print(*set(came_to), environment == dict(os.environ), len(os.listdir("/proc/self/task")), file=out)
"""


def test_a_rehearsed_task_and_a_rehearsed_transaction_succeed_and_leave_nothing_behind() -> None:
    done = subprocess.run([sys.executable, "-c", REHEARSALS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["success", "True", "1"], done.stderr
