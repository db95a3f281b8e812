"""``treadle kubernetes``: pods of the executor kubernetes, from outside of it."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import yaml

from treadle.document import TaskDocument
from treadle_cli import edge
from treadle_cli.clicks import Command, Group
from treadle_cli.dag_files import document_of, file_option
from treadle_cli.errors import CliError
from treadle_cli.output import counted, say
from treadle_executors.kubernetes.options import load_options
from treadle_executors.kubernetes.pods import PodMaker
from treadle_worker.protocol import Workload


@click.group(cls=Group, examples=("treadle kubernetes cleanup-pods --dry-run",))
def kubernetes() -> None:
    """Look after pods of the executor kubernetes; what it is told is in kubernetes.toml of the home folder."""


@kubernetes.command(
    "cleanup-pods",
    cls=Command,
    examples=("treadle kubernetes cleanup-pods", "treadle kubernetes cleanup-pods --older-than 1440 --dry-run"),
)
@click.option(
    "--older-than", type=click.FloatRange(0), default=60.0, show_default=True, help="Minutes since its start."
)
@click.option("-n", "--dry-run", is_flag=True, help="List them only.")
def cleanup_pods(older_than: float, dry_run: bool) -> None:
    """Delete pods of this installation that are over, such as those that delete_pods has kept."""
    if find_spec("kubernetes") is None:
        raise CliError("the package kubernetes is not installed; install it with: pip install 'treadle[kubernetes]'")
    # Loaded by name, since the client is an extra.
    cluster_module = importlib.import_module("treadle_executors.kubernetes.cluster")
    cleanup = importlib.import_module("treadle_executors.kubernetes.cleanup")
    options = load_options(edge.settings().home)
    cluster = cluster_module.connect(options)
    names = cleanup.clean_up(cluster, options.installation, now=edge.now(), minutes=older_than, dry_run=dry_run)
    for name in names:
        click.echo(name)
    say(f"{counted(len(names), 'pod')} {'would be deleted' if dry_run else 'deleted'}")


@kubernetes.command(
    "generate-dag-yaml",
    cls=Command,
    examples=(
        "treadle kubernetes generate-dag-yaml daily_sales",
        "treadle kubernetes generate-dag-yaml daily_sales > pods.yaml",
    ),
)
@click.argument("dag_id")
@file_option
def generate_dag_yaml(dag_id: str, file: Path | None) -> None:
    """Print the pods that the tasks of the DAG DAG_ID would get, as YAML, without making any."""
    settings = edge.settings()
    maker = PodMaker(settings, load_options(settings.home))
    for task in document_of(dag_id, file).tasks:
        click.echo("---")
        pod = maker.pod(_example(dag_id, task))
        # In the order in which people are used to read it.
        ordered = {name: pod[name] for name in ("apiVersion", "kind", "metadata", "spec") if name in pod}
        click.echo(yaml.safe_dump(ordered | pod, sort_keys=False), nl=False)


def _example(dag_id: str, task: TaskDocument) -> Workload:
    """Return what a task's first attempt would be; its ids are zeros."""
    run: Any = {"run_id": "example", "run_type": "manual", "conf": {}, "clear_number": 0, "triggered_by": "example"}
    return Workload(
        attempt_id="00000000-0000-0000-0000-000000000000",
        task_instance_id=0,
        month="2026-01-01",
        dag_id=dag_id,
        task_id=task.task_id,
        map_index=-1,
        try_number=1,
        max_tries=task.retries,
        file="example.py",
        file_hash="example",
        version="example",
        queue=task.queue,
        pool=task.pool,
        isolation="process",
        execution_timeout_seconds=None,
        executor_config=dict(task.executor_config),
        log_path="example",
        run=run,
    )
