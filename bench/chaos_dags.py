"""The DAG files of the chaos benchmark: one DAG for each promise that the checker judges.

Tasks append a line to the file of signs for each thing that they do, callbacks one to the file of calls
(``bench.recorded`` reads both). ``texts`` gives the files; two of them change while the monkey is at work.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

WAITING: Final = {
    "chain": 3,
    "wide": 3,
    "pools": 3,
    "capped": 3,
    "long": 1,
    "stubborn": 3,
    "doomed": 2,
    "grouped": 3,
    "scoped": 3,
    "producing": 2,
    "told": 3,
    "stepped": 2,
    "deferred": 3,
    "expiring": 1,
    "changing": 2,
}
"""How many runs of each DAG are to be under way or waiting: more than may run at a time."""

WAITS: Final = {"deferred": (2.0, 1.0)}
"""How many seconds the tasks of a DAG are deferred, wait by wait."""

BACKFILLED: Final = "filled"
POOLS: Final = {"narrow": 3, "filling": 2}
TICKING: Final = "ticking.py"
CHANGING: Final = "changing.py"
MOST_EXTRA: Final = 3
"""How many tasks the newest version of the changing DAG has more than the smallest one, at most."""

_COMMON = """
import os
import time
from datetime import datetime, timedelta

from treadle import DAG, Asset, BaseOperator, DeadlineAlert, DeadlineReference, SyncCallback
from treadle.triggers import TimeDeltaTrigger
from treadle import get_current_context, step, task, task_group

SIGNS = os.open({signs!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
CALLS = os.open({calls!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
STEPS = os.open({steps!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def sign(kind):
    ti = get_current_context()["ti"]
    facts = (ti.dag_id, ti.run_id, ti.task_id, ti.map_index, ti.try_number, os.getpid(), kind, time.monotonic())
    os.write(SIGNS, ("|".join(map(str, facts)) + "\\n").encode())


def calling(event):
    def call(context):
        ti = context.get("ti")
        place = (ti.task_id, ti.map_index, ti.try_number) if event.startswith("task") else ("", -1, 0)
        facts = (event, context["dag"].dag_id, context["run_id"], *place)
        os.write(CALLS, ("|".join(map(str, facts)) + "\\n").encode())
    return call


def work(seconds, *_):
    sign("begin")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(0.1, seconds))
        sign("tick")
    sign("end")


def fail(tries):
    work(0.05)
    if get_current_context()["ti"].try_number <= tries:
        raise RuntimeError("as planned")


ARGUMENTS = {{"retries": 100, "retry_delay": 0}}
"""

_LOAD = """
with DAG("chain", max_active_runs=2, default_args=ARGUMENTS):
    last = None
    for number in range(6):
        one = task(task_id=f"t{{number}}")(work)(0.03)
        if last is not None:
            last >> one
        last = one

with DAG("wide", max_active_runs=2, max_active_tasks=4, default_args=ARGUMENTS):
    first, join = task(task_id="first")(work)(0.02), task(task_id="join")(work)(0.02)
    for number in range(10):
        first >> task(task_id=f"t{{number}}")(work)(0.1) >> join

with DAG("pools", max_active_runs=2, default_args=ARGUMENTS):
    for number in range(6):
        task(task_id=f"t{{number}}", pool="narrow", pool_slots=1 + number % 2)(work)(0.2)

with DAG("capped", max_active_runs=2, default_args=ARGUMENTS):
    work_with = task(task_id="mapped", max_active_tis_per_dag=3, max_active_tis_per_dagrun=2)(work)
    work_with.expand(seconds=[0.05, 0.1, 0.15, 0.05, 0.1])

with DAG("long", max_active_runs=1, default_args=ARGUMENTS):
    for number in range(2):
        task(task_id=f"t{{number}}")(work)(3 * {lease})

with DAG("stubborn", max_active_runs=2, default_args=ARGUMENTS):
    for number in range(2):
        task(task_id=f"t{{number}}")(fail)(2)

with DAG("doomed", max_active_runs=1, default_args={{"retries": 1, "retry_delay": 0}}):
    task(task_id="t")(fail)(1000) >> task(task_id="never")(work)(0.0)

with DAG("grouped", max_active_runs=2, default_args=ARGUMENTS):

    @task
    def items():
        work(0.02)
        return [0.02, 0.1, 0.05]

    @task_group
    def each(seconds):
        task(task_id="one")(work)(seconds) >> task(task_id="two")(work)(0.02) >> task(task_id="three")(work)(seconds)

    each.expand(seconds=items()) >> task(task_id="join")(work)(0.02)

with DAG("scoped", max_active_runs=2, default_args=ARGUMENTS):
    begin = task(task_id="begin")(work)(0.05).as_setup()
    end = task(task_id="end")(work)(0.05).as_teardown(setups=[begin])
    begin >> task(task_id="inner")(work)(0.2) >> task(task_id="last")(work)(0.2) >> end

A, B = Asset("a"), Asset("b")

with DAG("producing", max_active_runs=2, default_args=ARGUMENTS):
    task(task_id="a", outlets=[A])(work)(0.05)
    task(task_id="b", outlets=[A, B])(work)(0.1)

with DAG("either", schedule=A | B, max_active_runs=1, default_args=ARGUMENTS):
    task(task_id="t")(work)(0.05)

with DAG("both", schedule=[A, B], max_active_runs=2, default_args=ARGUMENTS):
    task(task_id="t")(work)(0.05)

with DAG(
    "told",
    max_active_runs=2,
    on_success_callback=calling("run_success"),
    on_failure_callback=calling("run_failure"),
    deadline=DeadlineAlert(
        DeadlineReference.DAGRUN_QUEUED_AT, timedelta(seconds=1.5), SyncCallback(calling("deadline"))
    ),
):
    told = {{"on_failure_callback": calling("task_failure"), "on_retry_callback": calling("task_retry")}}
    # Every second run fails: what a killed attempt costs is of no account beside three planned failures.
    task(task_id="t", retries=3, retry_delay=0, **told)(
        lambda: fail(1000 if sum(get_current_context()["run_id"].encode()) % 2 else 1)
    )()

@task.step
def effect(number):
    os.write(STEPS, f"{{step.idempotency_key}}|{{os.getpid()}}|{{time.time()}}\\n".encode())
    time.sleep(0.03)


def go_in_steps():
    sign("begin")
    for number in range(4):
        effect(number)
    step.sleep("nap", timedelta(seconds=1))
    for number in range(4, 8):
        effect(number)
    sign("end")


with DAG("stepped", max_active_runs=2, default_args=ARGUMENTS):
    for number in range(2):
        task(task_id=f"t{{number}}")(go_in_steps)()

class Waits(BaseOperator):
    def execute(self, context):
        sign("begin")
        self.defer(trigger=TimeDeltaTrigger(timedelta(seconds={waits[0]})), method_name="go_half")

    def go_half(self, context, event):
        sign("resume1")
        self.defer(trigger=TimeDeltaTrigger(timedelta(seconds={waits[1]})), method_name="go_on")

    def go_on(self, context, event):
        sign("resume2")
        sign("end")


class Expires(BaseOperator):
    # The time of its first try's wait is over before the trigger fires; that ends the try, and the trigger.
    def execute(self, context):
        sign("begin")
        if context["ti"].try_number == 1:
            hour = TimeDeltaTrigger(timedelta(hours=1))
            self.defer(trigger=hour, method_name="go_on", timeout=timedelta(seconds=1))
        sign("end")

    def go_on(self, context, event):
        sign("never")


with DAG("deferred", max_active_runs=2, default_args=ARGUMENTS):
    for number in range(3):
        Waits(task_id=f"t{{number}}")

with DAG("expiring", max_active_runs=1, default_args=ARGUMENTS):
    Expires(task_id="t")

with DAG("filled", schedule="@daily", start_date=datetime(2100, 1, 1), max_active_runs=2, default_args=ARGUMENTS):
    # In a pool of its own: in the same one, live work would always come first.
    task(task_id="t", pool="filling")(work)(0.05) >> task(task_id="u", pool="filling")(work)(0.05)
"""

_CHANGING = """
with DAG("changing", max_active_runs=2, default_args=ARGUMENTS):
    first = task(task_id="first")(work)(0.05)
    first >> task(task_id="second")(work)(0.05)
    for number in range({extra}):
        first >> task(task_id=f"extra{{number}}")(work)(0.05)
"""

_TICKING = """
with DAG(
    "ticking", schedule={schedule}, start_date=datetime(2026, 1, 1), max_active_runs=1, overlap="skip",
    default_args=ARGUMENTS,
):
    task(task_id="t")(work)(0.7)
"""


@dataclass(frozen=True, slots=True)
class Notes:
    """The files to which code of users appends what it does."""

    signs: Path
    calls: Path
    steps: Path


def texts(notes: Notes, lease: float) -> dict[str, str]:
    """Return the files to begin with, by name."""
    return {
        "load.py": _common(notes) + _LOAD.format(lease=lease, waits=WAITS["deferred"]),
        CHANGING: changing(notes, 0),
        TICKING: ticking(notes, on=True),
    }


def changing(notes: Notes, extra: int) -> str:
    """Return the file of the DAG that changes, with ``extra`` tasks more than it needs."""
    return _common(notes) + _CHANGING.format(extra=extra)


def ticking(notes: Notes, *, on: bool) -> str:
    """Return the file of the DAG that runs each second, skipping what it has no place for; or of its last version."""
    schedule = "timedelta(seconds=1)" if on else "None"
    return _common(notes) + _TICKING.format(schedule=schedule)


def _common(notes: Notes) -> str:
    return _COMMON.format(signs=str(notes.signs), calls=str(notes.calls), steps=str(notes.steps))
