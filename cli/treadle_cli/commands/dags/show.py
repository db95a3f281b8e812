"""``treadle dags show``: the graph of a DAG on the terminal or as a picture."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from treadle.document import DagDocument
from treadle_cli.clicks import Command
from treadle_cli.dag_files import document_of, file_option
from treadle_cli.errors import CliError
from treadle_cli.graph.dot import dot
from treadle_cli.graph.svg import svg
from treadle_cli.graph.text import drawing
from treadle_cli.output import counted, say

_FORMS: Final = (".svg", ".dot", ".png")
_UNLIMITED: Final = 10_000


@click.command(
    cls=Command,
    examples=("treadle dags show daily_sales", "treadle dags show daily_sales --save graph.svg"),
)
@click.argument("dag_id")
@file_option
@click.option(
    "-s", "--save", type=click.Path(path_type=Path, dir_okay=False), help="Write a .svg, .dot or .png instead."
)
@click.option("--width", type=click.IntRange(min=20), help="Columns of the drawing; default: those of the terminal.")
def show(dag_id: str, file: Path | None, save: Path | None, width: int | None) -> None:
    """Draw the graph of the DAG DAG_ID, read from its file; a graph that is too wide is listed instead."""
    if save is not None and save.suffix.lower() not in _FORMS:
        raise click.BadParameter(f"{save} ends in none of {', '.join(_FORMS)}", param_hint="--save")
    dag = document_of(dag_id, file)
    if save is not None:
        _save(dag, save)
        return
    say(f"{dag.dag_id}: {counted(len(dag.tasks), 'task')}, schedule {dag.schedule.summary or dag.schedule.kind}")
    columns = width or (shutil.get_terminal_size().columns if sys.stdout.isatty() else _UNLIMITED)
    click.echo(drawing(dag, columns, ascii_only=not _draws_lines(sys.stdout.encoding)))


def _save(dag: DagDocument, path: Path) -> None:
    suffix = path.suffix.lower()
    try:
        if suffix == ".png":
            _save_png(dot(dag), path)
        else:
            path.write_text(svg(dag) if suffix == ".svg" else dot(dag), encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}") from error
    say(f"Saved {path}.")


def _save_png(text: str, path: Path) -> None:
    program = shutil.which("dot")
    if program is None:
        raise CliError(f"a PNG needs the program dot of Graphviz; install it, or use --save {path.with_suffix('.svg')}")
    done = subprocess.run([program, "-Tpng", "-o", str(path)], input=text.encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise CliError(f"dot could not draw {path}: {done.stderr.decode(errors='replace').strip()}")


def _draws_lines(encoding: str) -> bool:
    try:
        "─┼".encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
