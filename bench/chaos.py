"""What is broken when everything breaks: schedulers, hosts, tasks, triggerers, PostgreSQL at random, then a checker.

``python -m bench chaos --minutes 30 --seed 7``. Three schedulers share one durable database, two triggerers its web
server; the monkey kills, stops and restarts until the time is over; then it rests, all runs must end, and the recorded
history is checked (``bench.checker``). The result is one line of figures; the exit code is 1 if any promise was broken.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from sqlalchemy.exc import DBAPIError

from bench import recorded
from bench.checker import Violation, check
from bench.cluster import GRACE_SECONDS, LEASE_SECONDS, Cluster
from bench.monkey import Monkey
from bench.records import DEFERRED, HANDED_BACK, History
from bench.report import progress, report

SHOWN = 20
_UNDER_WAY = """
    SELECT (SELECT count(*) FROM dag_run WHERE state IN ('queued', 'running'))
         + (SELECT count(*) FROM callback WHERE state IN ('pending', 'queued', 'running'))
         + (SELECT count(*) FROM deadline WHERE missed_at IS NULL)
         + (SELECT count(*) FROM asset_run_queue WHERE is_new)
         + (SELECT count(*) FROM backfill WHERE completed_at IS NULL)
         + (SELECT count(*) FROM trigger) AS n
"""
OVERLAP_SECONDS = GRACE_SECONDS + 1.0
"""What an attempt that was told to end may take for it; the second is for a machine that is busy."""


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m bench chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="how long the monkey is at work")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedulers", type=int, default=3)
    parser.add_argument("--settle", type=float, default=120.0, help="most seconds until all runs have ended afterwards")
    parser.add_argument("--keep", type=Path, help="folder for the database, logs and signs, kept afterwards")
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _leave)
    with tempfile.TemporaryDirectory(prefix="treadle-chaos-") as folder:
        violations, figures = run(chosen, chosen.keep or Path(folder))
    for one in violations[:SHOWN]:
        progress(f"VIOLATION {one.rule}: {one.facts}")
    report("chaos", {"minutes": chosen.minutes, "seed": chosen.seed, "schedulers": chosen.schedulers}, figures)
    sys.exit(1 if violations else 0)


def run(chosen: argparse.Namespace, folder: Path) -> tuple[list[Violation], dict[str, float]]:
    """Run the ordeal in ``folder``; return what was wrong, and the figures."""
    began = time.monotonic()
    with Cluster(folder, chosen.schedulers) as cluster:
        monkey = Monkey(cluster, chosen.seed)
        found = _ordeal(cluster, monkey, chosen.minutes * 60)
        rested = time.monotonic()
        found += _settle(cluster, chosen.settle)
        settled = time.monotonic()
        found += [
            Violation("ends_in_order", f"a scheduler ended with {code}")
            for pid, code in cluster.end_schedulers().items()
            if code and cluster.had_started(pid)
        ]
        found += [
            Violation("ends_in_order", f"{name} ended with {code}")
            for name, code in cluster.beside.end().items()
            if code
        ]
        found += _left_behind(cluster)
        past = cluster.database.run(
            lambda connection: recorded.read(
                connection,
                cluster.notes,
                cluster.settings,
                excuses=monkey.excuses,
                overlap_seconds=OVERLAP_SECONDS,
                marked=monkey.people.marked,
                wrong_clocks=monkey.wrong_clocks,
            )
        )
        lost = cluster.select("SELECT count(*) AS n FROM task_attempt WHERE error ->> 'kind' = 'lost'")[0]["n"]
    found += check(past)
    figures = _figures(past, monkey.counts, found) | {
        "lost_attempts": lost,
        "settle_s": settled - rested,
        "total_s": time.monotonic() - began,
    }
    return found, figures


def _ordeal(cluster: Cluster, monkey: Monkey, seconds: float) -> list[Violation]:
    """Let the monkey work under load."""
    found: list[Violation] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found += _revived(cluster)
        _feed(cluster)
        progress(f"{max(0.0, end - time.monotonic()):.0f} s left: {monkey.act()}")
        time.sleep(monkey.pause())
        monkey.thaw()
    monkey.rest()
    return found


def _revived(cluster: Cluster) -> list[Violation]:
    """Start again what was killed, while the database answers."""
    try:
        codes = cluster.revive()
    except DBAPIError:
        cluster.database.close()
        return []
    ended = [*(("a scheduler", code) for code in codes), *cluster.beside.revive()]
    return [Violation("never_dies", f"{name} ended by itself with {code}") for name, code in ended]


def _feed(cluster: Cluster) -> None:
    try:
        cluster.feed()
    except DBAPIError as error:
        progress(f"the load waits for the database: {error.orig}")
        cluster.database.close()


def _settle(cluster: Cluster, seconds: float) -> list[Violation]:
    """Wait until all runs have ended; a run that does not will be found by the checker."""
    found: list[Violation] = []
    end = time.monotonic() + seconds
    resting = False
    while time.monotonic() < end:
        found += _revived(cluster)
        resting = resting or _at_peace(cluster)
        if resting and _all_ended(cluster):
            break
        time.sleep(0.2)
    limit = time.monotonic() + LEASE_SECONDS + GRACE_SECONDS + 5
    while cluster.left_behind() and time.monotonic() < limit:
        time.sleep(0.1)
    return found + _left_behind(cluster)


def _at_peace(cluster: Cluster) -> bool:
    """Take the causes of further runs away, as soon as the database answers."""
    try:
        cluster.come_to_rest()
    except DBAPIError:
        cluster.database.close()
        return False
    return True


def _all_ended(cluster: Cluster) -> bool:
    try:
        return not cluster.select(_UNDER_WAY)[0]["n"]
    except DBAPIError:
        cluster.database.close()
        return False


def _left_behind(cluster: Cluster) -> list[Violation]:
    return [Violation("leaves_nothing", f"process {pid} was left behind") for pid in cluster.left_behind()]


def _figures(past: History, counts: Counter[str], violations: list[Violation]) -> dict[str, float]:
    return {
        "runs": len(past.runs),
        "tasks": len(past.instances),
        "attempts": len(past.attempts),
        "executions": sum(sign.kind == "begin" for sign in past.signs),
        "moves": len(past.moves),
        "deferrals": sum(one.outcome == DEFERRED for one in past.attempts),
        "steps": sum(one.done_at is not None for one in past.steps),
        "handed_back": sum(one.outcome == HANDED_BACK for one in past.attempts),
        "marked_runs": len(past.marked),
        "asset_events": len(past.events),
        "callbacks": len(past.callbacks),
        "missed_deadlines": sum(one.is_missed for one in past.deadlines),
        "backfills": len(past.backfills),
        "missed_times": len(past.missed),
        **{name: float(count) for name, count in sorted(counts.items())},
        "violations": len(violations),
    }


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(143)
