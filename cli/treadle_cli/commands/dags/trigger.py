"""``treadle dags trigger``: one run now, and with ``--wait`` its end as the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Command
from treadle_cli.commands.dags.listing import run_row
from treadle_cli.database import every, in_database
from treadle_cli.output import counted, output_option, say, show_record
from treadle_cli.typed import parsed_object
from treadle_cli.waiting import progress, until
from treadle_metadata import audit
from treadle_metadata.queries.dags import error_of_file, get_dag
from treadle_metadata.queries.runs import get_run
from treadle_metadata.queries.task_instances import InstanceFilter, list_instances, state_counts
from treadle_metadata.queries.versions import newest_document
from treadle_metadata.runs import trigger_run
from treadle_metadata.states import FINISHED, FINISHED_RUNS, RunState

_MOST_TOLD: Final = 10


@dataclass(frozen=True, slots=True)
class _Seen:
    """A run as it stands: its row and the states of its task instances."""

    run: Mapping[str, Any]
    states: Mapping[str, int]

    @property
    def is_over(self) -> bool:
        return self.run["state"] in FINISHED_RUNS


@click.command(
    cls=Command,
    examples=(
        "treadle dags trigger daily_sales --wait",
        """treadle dags trigger daily_sales --conf '{"country": "DK"}' --run-id correction-1""",
        "treadle dags trigger daily_sales --logical-date 2026-03-01",
    ),
)
@click.argument("dag_id")
@click.option("-c", "--conf", help="The run's params, as a JSON object.")
@click.option("-r", "--run-id", help="Id of the run; made from the time if not given.")
@click.option("-l", "--logical-date", type=edge.Moment(), help="Logical date; the run has none if not given.")
@click.option("--partition-key", help="The part of the data that the run is for.")
@click.option("--note", help="A remark to keep with the run.")
@click.option("-w", "--wait", is_flag=True, help="Wait for the run's end; exit code 1 if it fails.")
@click.option("--timeout", type=click.FloatRange(min=0), help="Most seconds to --wait.")
@output_option
@click.pass_context
def trigger(
    ctx: click.Context,
    dag_id: str,
    conf: str | None,
    run_id: str | None,
    logical_date: datetime | None,
    partition_key: str | None,
    note: str | None,
    wait: bool,
    timeout: float | None,
    output: str | None,
) -> None:
    """Make a run of the DAG DAG_ID, to start now; prints its run id."""
    content, now = parsed_object(conf, "--conf"), edge.now()

    def act(connection: Connection) -> tuple[Mapping[str, Any], Mapping[str, Any], str | None]:
        zone = newest_document(connection, dag_id).timezone
        run = trigger_run(
            connection,
            dag_id,
            run_id=run_id,
            logical_date=edge.localised(logical_date, zone),
            conf=content,
            note=note,
            partition_key=partition_key,
            triggered_by="cli",
            user=edge.actor().removeprefix("cli:"),
            cron_style=edge.settings().cron_style,
            now=now,
        )
        detail = {"conf": content}
        audit.record(
            connection, actor=edge.actor(), event="trigger_dag_run", now=now, dag_id=dag_id, run_id=run["run_id"],
            detail=detail,
        )  # fmt: skip
        dag = get_dag(connection, dag_id)
        return run, dag, error_of_file(connection, dag["file"])

    run, dag, broken = in_database(act)
    _hint(run, dag, broken)
    if not output:
        click.echo(run["run_id"])
    if wait:
        run = wait_for_run(dag_id, run["run_id"], timeout)
    if output:
        show_record(run_row(run), output)
    ctx.exit(1 if wait and run["state"] != RunState.SUCCESS else 0)


def _hint(run: Mapping[str, Any], dag: Mapping[str, Any], broken: str | None) -> None:
    """Say what one who triggers a run may not have meant or may not know."""
    for warning in run["conf_warnings"]:
        say(f"Warning: {warning}.")
    if broken:
        say(f"{dag['file']} cannot be read now, so the run uses version {dag['version_number']}: {broken}")
    if dag["is_paused"]:
        say(f"DAG {dag['dag_id']} is paused: the run stays queued until `treadle dags unpause {dag['dag_id']}`.")


def wait_for_run(dag_id: str, run_id: str, timeout: float | None) -> Mapping[str, Any]:
    """Wait for the end of a run, tell how it ended and return its row."""
    with progress(dag_id) as bar:

        def seen(one: _Seen) -> None:
            total = sum(one.states.values())
            done = sum(number for state, number in one.states.items() if state in FINISHED)
            words = ", ".join(f"{number} {state}" for state, number in one.states.items() if state not in FINISHED)
            bar.update(done, total, f"{one.run['state']}{': ' if words else ''}{words}")

        what = f"run {run_id} of DAG {dag_id}"
        run = until(
            lambda connection: _look(connection, dag_id, run_id),
            lambda one: one.is_over,
            seen,
            what=what,
            timeout=timeout,
        ).run
    _tell(run)
    return run


def _look(connection: Connection, dag_id: str, run_id: str) -> _Seen:
    run = get_run(connection, dag_id, run_id)
    return _Seen(run, state_counts(connection, run))


def _tell(run: Mapping[str, Any]) -> None:
    seconds = (run["ended_at"] - run["started_at"]).total_seconds() if run["started_at"] else 0.0
    say(f"Run {run['run_id']} of DAG {run['dag_id']}: {run['state']} after {seconds:.1f} s.")
    if run["state"] == RunState.SUCCESS:
        return
    dag_id, run_id = run["dag_id"], run["run_id"]
    wanted = InstanceFilter(dag_id=dag_id, run_id=run_id, states=("failed",))
    failed, states = in_database(
        lambda connection: (
            every(lambda page: list_instances(connection, wanted, page), most=_MOST_TOLD),
            state_counts(connection, run),
        )
    )
    for instance in failed:
        index = f" --map-index {instance['map_index']}" if instance["map_index"] >= 0 else ""
        say(f"  task {instance['task_id']} failed: treadle tasks logs {dag_id} {instance['task_id']} {run_id}{index}")
    if states.get("failed", 0) > _MOST_TOLD:
        say(f"  and {states['failed'] - _MOST_TOLD} more: treadle tasks states {dag_id} {run_id} --state failed")
    if "upstream_failed" in states:
        say(f"  {counted(states['upstream_failed'], 'task')} could not run because of that")
