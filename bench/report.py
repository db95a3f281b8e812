"""The form of every benchmark's result: one JSON object on the last line of stdout."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def progress(message: str) -> None:
    """Tell whoever watches, on stderr."""
    print(message, file=sys.stderr, flush=True)


def report(benchmark: str, params: Mapping[str, object], figures: Mapping[str, float]) -> None:
    """Print the result. Names of figures end in their unit."""
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps({"benchmark": benchmark, "params": dict(params), "figures": rounded, "machine": machine()}))


def machine() -> dict[str, object]:
    """Return what the figures depend on."""
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "cpu": _cpu_model(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of ``values`` lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
