"""``treadle assets``: what data there is, who makes and waits for it, its events; telling of one by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click
from sqlalchemy import Connection

from treadle_cli import edge
from treadle_cli.clicks import Group
from treadle_cli.commands.dags.trigger import wait_for_run
from treadle_cli.database import every, in_database
from treadle_cli.output import Listing, output_option, say, show, show_record
from treadle_cli.typed import parsed_object
from treadle_metadata import audit
from treadle_metadata.assets import by_hand
from treadle_metadata.queries import assets as questions
from treadle_metadata.queries.assets import AssetFilter, EventFilter
from treadle_metadata.states import RunState

_COLUMNS: Final = ("name", "uri", "group", "made_by", "waited_for_by", "last_event")
_EVENT_COLUMNS: Final = ("id", "asset", "timestamp", "source", "partition_key", "extra", "made")

Row = Mapping[str, Any]


@click.group(cls=Group, examples=("treadle assets list", "treadle assets materialize orders --wait"))
def assets() -> None:
    """Data that tasks make and DAGs wait for. ASSET is its name, or its uri."""


@assets.command("list", examples=("treadle assets list", "treadle assets list --name orders -o json"))
@click.option("--name", help="Only assets whose name contains this; %, _ and | have a meaning.")
@click.option("--dag-id", multiple=True, help="Only assets that this DAG names.")
@click.option("--all", "all_", is_flag=True, help="Also those that only DAGs name which are gone.")
@output_option
def list_(name: str | None, dag_id: tuple[str, ...], all_: bool, output: str | None) -> None:
    """List the assets."""
    wanted = AssetFilter(name_pattern=name, dag_ids=dag_id, active=not all_)
    found = in_database(lambda connection: every(lambda page: questions.list_assets(connection, wanted, page)))
    show(Listing(_COLUMNS, [_asset(one) for one in found], optional=("group", "uri")), output)


@assets.command("show", examples=("treadle assets show orders",))
@click.argument("asset")
@output_option
def show_(asset: str, output: str | None) -> None:
    """Show one asset: who makes it, reads it and waits for it."""
    found = in_database(lambda connection: questions.find_asset(connection, asset))
    read_by = ", ".join(f"{one['dag_id']}.{one['task_id']}" for one in found["consuming_tasks"])
    aliases = ", ".join(one["name"] for one in found["aliases"])
    extra = audit.masked(found["extra"])
    show_record(_asset(found) | {"read_by": read_by, "aliases": aliases, "extra": extra}, output)


@assets.command(examples=("treadle assets events orders", "treadle assets events --limit 5 -o json"))
@click.argument("asset", required=False)
@click.option("--dag-id", help="Only events that a task of this DAG told of.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Most events to show.")
@output_option
def events(asset: str | None, dag_id: str | None, limit: int, output: str | None) -> None:
    """List events, of one asset or of all, the newest first, with the runs that were made of them."""

    def act(connection: Connection) -> list[dict[str, Any]]:
        asset_id = questions.find_asset(connection, asset)["id"] if asset is not None else None
        wanted = EventFilter(asset_id=asset_id, source_dag_id=dag_id)
        return every(lambda page: questions.list_events(connection, wanted, page), most=limit)

    show(Listing(_EVENT_COLUMNS, [_event(one) for one in in_database(act)], optional=("extra", "source")), output)


@assets.command(
    examples=("treadle assets emit orders", """treadle assets emit orders --extra '{"rows": 3}' --partition-key eu""")
)
@click.argument("asset")
@click.option("--extra", help="What to say of the update, as a JSON object.")
@click.option("--partition-key", help="The part of the asset that was updated.")
def emit(asset: str, extra: str | None, partition_key: str | None) -> None:
    """Tell of an update of ASSET: DAGs that wait for it get their runs. Prints the event's id."""
    content, now = parsed_object(extra, "--extra"), edge.now()

    def act(connection: Connection) -> int:
        name = questions.find_asset(connection, asset)["name"]
        event_id = by_hand.emit_by_hand(connection, name, extra=content, partition_key=partition_key, now=now)
        detail = {"asset": name, "event_id": event_id, "partition_key": partition_key}
        audit.record(connection, actor=edge.actor(), event="create_asset_event", now=now, detail=detail)
        return event_id

    click.echo(in_database(act))


@assets.command(examples=("treadle assets materialize orders --wait",))
@click.argument("asset")
@click.option("-c", "--conf", help="The run's params, as a JSON object.")
@click.option("--partition-key", help="The part of the asset to make.")
@click.option("-w", "--wait", is_flag=True, help="Wait for the run's end; exit code 1 if it fails.")
@click.option("--timeout", type=click.FloatRange(min=0), help="Most seconds to --wait.")
@click.pass_context
def materialize(
    ctx: click.Context, asset: str, conf: str | None, partition_key: str | None, wait: bool, timeout: float | None
) -> None:
    """Make a run of the DAG that makes ASSET; prints its run id."""
    content, now = parsed_object(conf, "--conf"), edge.now()

    def act(connection: Connection) -> Mapping[str, Any]:
        found = questions.find_asset(connection, asset)
        run = by_hand.materialize(
            connection,
            found,
            conf=content,
            partition_key=partition_key,
            triggered_by="cli",
            user=edge.actor().removeprefix("cli:"),
            cron_style=edge.settings().cron_style,
            now=now,
        )
        audit.record(
            connection, actor=edge.actor(), event="materialize_asset", now=now, dag_id=run["dag_id"],
            run_id=run["run_id"], detail={"asset": found["name"]},
        )  # fmt: skip
        return run

    run = in_database(act)
    say(f"DAG {run['dag_id']} makes it.")
    click.echo(run["run_id"])
    if wait:
        run = wait_for_run(run["dag_id"], run["run_id"], timeout)
    ctx.exit(1 if wait and run["state"] != RunState.SUCCESS else 0)


def _asset(one: Row) -> dict[str, Any]:
    last = one["last_event"]
    return {
        "name": one["name"],
        "uri": one["uri"],
        "group": one["group_name"],
        "made_by": ", ".join(f"{row['dag_id']}.{row['task_id']}" for row in one["producing_tasks"]),
        "waited_for_by": ", ".join(row["dag_id"] for row in one["scheduled_dags"]),
        "last_event": last and last["happened_at"],
    }


def _event(one: Row) -> dict[str, Any]:
    source = ".".join(one[name] for name in ("source_dag_id", "source_task_id") if one[name])
    return {
        "id": one["id"],
        "asset": one["name"],
        "timestamp": one["happened_at"],
        "source": source,
        "run_id": one["source_run_id"],
        "partition_key": one["partition_key"],
        "extra": audit.masked(one["extra"]),
        "made": ", ".join(run["dag_id"] for run in one["created_runs"]),
    }
