"""A task that lets only the newest run of a schedule go on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from treadle.operators.branch import BaseBranchOperator, Choice
from treadle.timetables.at_hand import timetable_of
from treadle.timetables.base import DataInterval, TimeRestriction


class LatestOnlyOperator(BaseBranchOperator):
    """Skips the tasks that wait for it directly, unless this is the newest run that is due by now.

    A run that somebody triggered always goes on, and so does the last run of a schedule that has ended. Tasks further
    down follow their own trigger rules (airflow-surface 1.10).
    """

    def choose_branch(self, context: Any) -> Choice:
        """Return all direct downstream tasks for the newest run, nothing for an older one."""
        run, now = context["dag_run"], datetime.now(UTC)
        following = self._following_run(run, now)
        if following is None or now <= following:
            return sorted(self.downstream_task_ids)
        self.log.info("This run is not the latest: another one is due since %s", following.isoformat())
        return []

    def _following_run(self, run: Any, now: datetime) -> datetime | None:
        """Return when the run after this one is due, if the schedule has one."""
        if self.dag is None or run.run_type == "manual" or run.logical_date is None:
            return None
        # Interval-style and trigger-style schedules fire at the same instants, so the server's default does not matter.
        timetable = timetable_of(self.dag.schedule, self.dag.timezone)
        found = timetable.next_dagrun_info(
            last_automated_data_interval=DataInterval(run.data_interval_start, run.data_interval_end),
            restriction=TimeRestriction(self.dag.start_date, self.dag.end_date, catchup=True),
            now=now,
        )
        return None if found is None else found.run_after
