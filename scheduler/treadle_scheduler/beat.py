"""The beat's table of contents: the duties in the order in which a beat runs them, and what runs each at once.

:mod:`treadle_scheduler.loop` reads it. Each duty stands in a file of its own under ``duties`` and is one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from treadle_scheduler.context import Duty
from treadle_scheduler.duties.advance_runs import advance_runs
from treadle_scheduler.duties.collect_reports import collect_reports
from treadle_scheduler.duties.complete_backfills import complete_backfills
from treadle_scheduler.duties.create_asset_runs import create_asset_runs
from treadle_scheduler.duties.create_runs import create_runs
from treadle_scheduler.duties.end_waits import end_waits
from treadle_scheduler.duties.fire_deadlines import fire_deadlines
from treadle_scheduler.duties.hand_over import hand_over
from treadle_scheduler.duties.learn_sizes import learn_sizes
from treadle_scheduler.duties.make_partitions import make_partitions
from treadle_scheduler.duties.queue_tasks import queue_tasks
from treadle_scheduler.duties.rescue_lost import rescue_lost
from treadle_scheduler.duties.run_callbacks import run_callbacks
from treadle_scheduler.duties.start_runs import start_runs
from treadle_scheduler.duties.tell_costs import tell_costs
from treadle_scheduler.waking import Scope

BEAT: Sequence[Duty] = (
    make_partitions,
    collect_reports,
    create_runs,
    create_asset_runs,
    start_runs,
    advance_runs,
    end_waits,
    queue_tasks,
    fire_deadlines,
    run_callbacks,
    hand_over,
    rescue_lost,
    complete_backfills,
    learn_sizes,
    tell_costs,
)

WOKEN_BY: dict[Duty, Scope] = {
    collect_reports: Scope.TASKS,
    create_asset_runs: Scope.RUNS,
    start_runs: Scope.RUNS,
    advance_runs: Scope.TASKS,
    end_waits: Scope.RUNS,
    queue_tasks: Scope.TASKS,
    fire_deadlines: Scope.RUNS,
    run_callbacks: Scope.RUNS,
}
"""The narrowest call that runs a duty at once. The others run when everything is to be looked at, or in their time."""
