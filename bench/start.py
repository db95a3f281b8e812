"""From ``treadle standalone`` to healthy, with a fresh home and with one that exists."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.installation import Installation
from bench.report import quantile, report


def main(options: list[str]) -> None:
    """Start several times and report medians."""
    parser = argparse.ArgumentParser(prog="python -m bench start", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    chosen = parser.parse_args(options)
    fresh: list[float] = []
    existing: list[float] = []
    for _ in range(chosen.repeat):
        with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
            for times in (fresh, existing):
                installation = Installation(Path(folder), {})
                times.append(installation.start())
                installation.stop()
    report("start", vars(chosen), {"fresh_home_s": quantile(fresh, 0.5), "existing_home_s": quantile(existing, 0.5)})
