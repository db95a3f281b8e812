"""An installation at rest with many DAGs: CPU of everything together, memory of everything but PostgreSQL."""

from __future__ import annotations

import argparse
import time

from bench import processes
from bench.installation import installed, wait_for
from bench.parse import source
from bench.report import progress, report


def main(options: list[str]) -> None:
    """Wait for the first scan, let things settle, then watch."""
    parser = argparse.ArgumentParser(prog="python -m bench idle", description=__doc__)
    parser.add_argument("--dags", type=int, default=300)
    parser.add_argument("--settle", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=60)
    chosen = parser.parse_args(options)
    dags = {f"dag_{number}": source(number, 10, "idle") for number in range(chosen.dags)}
    with installed(dags, TREADLE_DAGS_ARE_PAUSED_AT_CREATION="true") as installation:
        wait_for(lambda: installation.select("SELECT count(*) AS n FROM dag")[0]["n"] >= chosen.dags, 120)
        time.sleep(chosen.settle)
        installation.database.close()
        ours, postgres = installation.pids()
        before = processes.cpu_seconds(ours + postgres)
        time.sleep(chosen.seconds)
        ours, postgres = installation.pids()
        cpu = (processes.cpu_seconds(ours + postgres) - before) / chosen.seconds * 100
        for pid in ours:
            progress(f"{processes.pss_mb([pid]):7.1f} MB  {processes.name(pid)} {pid}")
        pss = processes.pss_mb(ours)
    report("idle", vars(chosen), {"idle_cpu_percent": cpu, "pss_mb": pss})
