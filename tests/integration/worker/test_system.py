"""What the kernel is asked to do for the host."""

from __future__ import annotations

import subprocess
import sys

import pytest

DUMPABLE = """
import ctypes
from treadle_worker.system import hide_memory
before = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
hide_memory()
print(before, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_a_host_hides_its_memory() -> None:
    done = subprocess.run([sys.executable, "-c", DUMPABLE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "0"]
