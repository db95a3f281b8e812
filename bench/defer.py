"""Deferred tasks: 10,000 that go on together, the delay of one, 50,000 that sleep, and a triggerer that is killed."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bench import processes
from bench.installation import Installation, installed, wait_for
from bench.report import progress, quantile, report
from treadle_metadata import runs, settings
from treadle_metadata.crypto import Crypto
from treadle_metadata.statements import execute
from treadle_metadata.triggerer_tokens import TriggererTokens

SOURCE: Final = """
from treadle import DAG, BaseOperator
from treadle.triggers import DateTimeTrigger

class Waits(BaseOperator):
    def __init__(self, number=0, **arguments):
        super().__init__(**arguments)
        self.number = number

    def execute(self, context):
        self.defer(trigger=DateTimeTrigger(context["dag_run"].conf["moment"]), method_name="go_on")

    def go_on(self, context, event):
        return None

with DAG("bench", isolation="shared", max_active_tasks=100000):
    Waits.partial(task_id="wait").expand(number=list(range(NUMBER)))
"""

PARTS: Final = ("many", "delay", "asleep", "killed")

_COUNTS: Final = "SELECT state, count(*) AS n FROM task_instance WHERE map_index >= 0 GROUP BY state"


def main(options: list[str]) -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench defer", description=__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="with commas between")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long all of them wait together")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--asleep", type=int, default=50_000)
    parser.add_argument("--triggers", type=int, default=3_000)
    chosen = parser.parse_args(options)
    measures = {"many": many, "delay": delay, "asleep": asleep, "killed": killed}
    found: dict[str, Any] = {}
    for part in chosen.parts.split(","):
        progress(f"part {part}")
        found |= measures[part](chosen)
    report("defer", vars(chosen), found)


def many(chosen: argparse.Namespace) -> dict[str, Any]:
    """Defer all tasks until one moment; measure what they hold meanwhile, and how long all take to go on."""
    with installed({"bench": SOURCE.replace("NUMBER", str(chosen.tasks))}) as one:
        one.wait_for_dag("bench")
        lead = chosen.seconds + chosen.tasks / 100
        moment = datetime.now(UTC) + timedelta(seconds=lead)
        began = time.perf_counter()
        start(one, moment)
        wait_for(lambda: counts(one).get("deferred", 0) == chosen.tasks, lead, interval=0.25)
        deferred = time.perf_counter() - began
        rest = (moment - datetime.now(UTC)).total_seconds()
        progress(f"all deferred after {deferred:.1f} s, {rest:.1f} s before they fire")
        time.sleep(max(0.0, rest - 2))
        held = one.select("SELECT count(*) AS n FROM task_instance WHERE state IN ('queued', 'running', 'restarting')")
        memory = triggerer_memory(one)
        busy = processor_seconds(one)
        wait_for(lambda: counts(one).get("success", 0) == chosen.tasks, 300, interval=0.1)
        last = one.select(
            "SELECT max(ended_at) AS at, min(started_at) AS first FROM task_instance WHERE map_index >= 0"
        )[0]
        return {
            "many_deferred_seconds": round(deferred, 1),
            "many_slots_held": held[0]["n"],
            "many_waited_together_seconds": round(rest, 1),
            "many_triggerer_rss_mb": memory,
            "many_first_resumed_seconds": round((last["first"] - moment).total_seconds(), 2),
            "many_all_resumed_seconds": round((last["at"] - moment).total_seconds(), 2),
            "many_triggerer_cpu_seconds": round(processor_seconds(one) - busy, 2),
        }


def delay(chosen: argparse.Namespace) -> dict[str, Any]:
    """Defer one task at a time; measure from the moment of its event to its start."""
    with installed({"bench": SOURCE.replace("NUMBER", "1")}) as one:
        one.wait_for_dag("bench")
        samples = [one_delay(one) for _ in range(chosen.samples + 3)][3:]
        return {
            "delay_p50_ms": quantile(samples, 0.5),
            "delay_p95_ms": quantile(samples, 0.95),
        }


def one_delay(one: Installation) -> float:
    """Return the milliseconds from the moment that a task waits for to its start."""
    moment = datetime.now(UTC) + timedelta(seconds=0.7)
    run = start(one, moment)

    def ended() -> Any:
        return one.select(
            "SELECT started_at FROM task_instance WHERE dag_run_id = %(run)s AND map_index = 0 AND state = 'success'",
            run=run,
        )

    wait_for(ended, 30, interval=0.02)
    return float((ended()[0]["started_at"] - moment).total_seconds() * 1000)


def asleep(chosen: argparse.Namespace) -> dict[str, Any]:
    """Have one triggerer run triggers that sleep; measure its processor time."""
    with installed({}) as one:
        began = time.perf_counter()
        put_to_sleep(one, chosen.asleep)
        wait_for(lambda: owned(one) == chosen.asleep, 300, interval=0.25)
        taken = time.perf_counter() - began
        time.sleep(15)  # what it does on taking them is over
        before, began = processor_seconds(one), time.perf_counter()
        time.sleep(30)
        share = (processor_seconds(one) - before) / (time.perf_counter() - began)
        return {
            "asleep_taken_seconds": round(taken, 1),
            "asleep_cpu_percent": round(100 * share, 2),
            "asleep_triggerer_rss_mb": triggerer_memory(one),
        }


def killed(chosen: argparse.Namespace) -> dict[str, Any]:
    """Kill one of three triggerers; measure until all triggers have a living owner again."""
    with installed({}) as one, beside(one, 2) as others:
        wait_for(lambda: len(living(one)) == 3, 30)
        put_to_sleep(one, chosen.triggers)
        wait_for(lambda: owned(one) == chosen.triggers and len(owners(one)) == 3, 120, interval=0.1)
        time.sleep(11)
        victim = others[0]
        mine = one.select("SELECT id FROM process WHERE kind = 'triggerer' AND pid = %(pid)s", pid=victim.pid)[0]["id"]
        lost = owners(one)[mine]
        began = time.perf_counter()
        victim.send_signal(signal.SIGKILL)
        wait_for(lambda: mine not in owners(one) and owned(one) == chosen.triggers, 120, interval=0.05)
        return {"killed_lost_triggers": lost, "killed_owned_again_seconds": round(time.perf_counter() - began, 1)}


def start(one: Installation, moment: datetime) -> int:
    """Make a run whose tasks wait for ``moment``."""
    with one.database.begin() as connection:
        conf = {"moment": moment.isoformat()}
        made = runs.trigger_run(connection, "bench", conf=conf, triggered_by="cli", now=datetime.now(UTC))
    return int(made["id"])


def counts(one: Installation) -> dict[str, int]:
    """Return the number of instances in each state."""
    return {row["state"]: row["n"] for row in one.select(_COUNTS)}


def put_to_sleep(one: Installation, number: int) -> None:
    """Store triggers for which nobody waits, an hour long."""
    chosen = settings.load(one.environment)
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    kwargs = Crypto.of_setting(chosen.fernet_key).encrypt(json.dumps({"moment": later}))
    with one.database.begin() as connection:
        execute(
            connection,
            """
            INSERT INTO trigger (classpath, kwargs, created_at)
            SELECT 'treadle.triggers.temporal.DateTimeTrigger', %(kwargs)s, now() FROM generate_series(1, %(number)s)
            """,
            {"kwargs": kwargs, "number": number},
        )
        execute(connection, "SELECT pg_notify('treadle_triggers', '')")


def owners(one: Installation) -> dict[Any, int]:
    """Return how many triggers each owner has."""
    found = one.select("SELECT owner, count(*) AS n FROM trigger WHERE owner IS NOT NULL GROUP BY owner")
    return {row["owner"]: row["n"] for row in found}


def owned(one: Installation) -> int:
    """Return how many triggers have an owner."""
    return sum(owners(one).values())


def living(one: Installation) -> list[Any]:
    """Return the triggerers whose lease holds."""
    return list(one.select("SELECT id FROM process WHERE kind = 'triggerer' AND lease_until > now()"))


@contextmanager
def beside(one: Installation, number: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run further triggerers while the block runs."""
    chosen = settings.load(one.environment)
    token = TriggererTokens(chosen.jwt_secret).issue(now=datetime.now(UTC))
    environment = {
        **os.environ,
        "TREADLE_TRIGGERER_TOKEN": token,
        "TREADLE_EXECUTION_URL": f"http://127.0.0.1:{one.port}",
        "TREADLE_DAGS_FOLDER": str(one.home / "dags"),
    }
    command = [sys.executable, "-P", "-m", "treadle_triggerer"]
    started = [subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) for _ in range(number)]
    try:
        yield started
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


def triggerer_pids(one: Installation) -> list[int]:
    """Return the processes of the installation's own triggerer: the parent and its loop."""
    found = one.select("SELECT pid FROM process WHERE kind = 'triggerer' AND lease_until > now() ORDER BY started_at")
    return processes.tree(found[0]["pid"])


def triggerer_memory(one: Installation) -> float:
    """Return the resident memory of the triggerer's processes together, in megabytes; what they share counts twice."""
    total = 0
    for pid in triggerer_pids(one):
        with open(f"/proc/{pid}/statm") as file:
            total += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return round(total / 1e6, 1)


def processor_seconds(one: Installation) -> float:
    """Return the processor time that the triggerer's processes have used."""
    total = 0
    for pid in triggerer_pids(one):
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")
