"""Start-up costs: ``import treadle`` and the CLI's ``version``, as whole processes."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from bench.report import quantile, report

COMMANDS = {
    "python_ms": ["-c", "pass"],
    "sdk_import_ms": ["-c", "import treadle; treadle.DAG, treadle.task"],
    "cli_version_ms": ["-m", "treadle_cli", "version"],
    "cli_help_ms": ["-m", "treadle_cli", "--help"],
}


def main(options: list[str]) -> None:
    """Time each command and report medians. ``sdk_import_ms`` is what the import adds to a bare interpreter."""
    parser = argparse.ArgumentParser(prog="python -m bench imports", description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    chosen = parser.parse_args(options)
    figures = {
        name: quantile([timed(command) for _ in range(chosen.repeat)], 0.5) for name, command in COMMANDS.items()
    }
    figures["sdk_import_whole_process_ms"] = figures["sdk_import_ms"]
    figures["sdk_import_ms"] -= figures["python_ms"]
    report("imports", vars(chosen), figures)


def timed(arguments: list[str]) -> float:
    """Return the milliseconds that one process takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000
