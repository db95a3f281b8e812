"""Durable steps per second in one task: each recorded and committed before the next one begins.

Then the same task's retry, which replays all of them.
"""

from __future__ import annotations

import argparse

from bench.installation import installed
from bench.report import progress, report

SOURCE = """
import os, time
from treadle import DAG, task

@task.step
def effect(number):
    return number

with DAG("bench", default_args={{"retries": 1, "retry_delay": 0}}):
    @task
    def steps(ti=None):
        began = time.perf_counter()
        for number in range({steps}):
            effect(number)
        seconds = time.perf_counter() - began
        with open({path!r}, "a") as file:
            file.write(f"{{seconds}}\\n")
        if ti.try_number % 2:
            raise RuntimeError("once more, to replay")
    steps()
"""


def main(options: list[str]) -> None:
    """Run the task and report steps per second, new and replayed."""
    parser = argparse.ArgumentParser(prog="python -m bench steps", description=__doc__)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds; the median counts")
    chosen = parser.parse_args(options)
    with installed({}) as installation:
        times = installation.home / "times"
        source = SOURCE.format(steps=chosen.steps, path=str(times))
        (installation.home / "dags" / "bench.py").write_text(source)
        installation.wait_for_dag("bench")
        for number in range(chosen.rounds):
            installation.trigger("bench")
            installation.wait_for_runs(number + 1, 300)
        seconds = [float(line) for line in times.read_text().splitlines()]
        recorded = installation.select("SELECT count(*) AS n FROM durable_step")[0]["n"]
    progress(f"steps per second, new and replayed: {[round(chosen.steps / one) for one in seconds]}")
    new, replayed = sorted(seconds[::2]), sorted(seconds[1::2])
    figures = {
        "steps_per_s": chosen.steps / new[len(new) // 2],
        "replayed_per_s": chosen.steps / replayed[len(replayed) // 2],
        "recorded": recorded,
    }
    report("steps", vars(chosen), figures)
