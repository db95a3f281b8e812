"""DAG files read in this process, for commands that need no server: ``dags show|test|next-execution``, ``tasks test``.

User code runs here with the rights of whoever typed the command. A DAG named without its file is searched in the dags
folder: files whose text holds the id are run first, and the search ends with the first that defines it.
"""

from __future__ import annotations

import difflib
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treadle.document import DagDocument
from treadle.errors import DagError
from treadle.runtime import masking
from treadle.runtime.masked_output import masked_output
from treadle.serialization import document_of as serialized
from treadle.serialization import validate
from treadle_cli import edge
from treadle_cli.errors import CliError
from treadle_scheduler.parsing.listing import list_files, may_define_dags, read_file
from treadle_worker import loading
from treadle_worker.loading import load_dag_file

if TYPE_CHECKING:
    from treadle import DAG


def file_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-f/--file`` to a command."""
    words = "Where the DAG is; if not given, the dags folder is searched."
    return click.option("-f", "--file", type=click.Path(path_type=Path), help=words)(command)


class DagFileError(CliError):
    """A DAG file cannot be run; the message names the file, the line and the error."""


def document_of(dag_id: str, file: Path | None) -> DagDocument:
    """Return the document of the DAG ``dag_id``, from ``file`` or from the first file of the dags folder that has it.

    Raises:
        DagFileError: the file cannot be run.
        CliError: no file defines the DAG.
        DagError: the DAG is not valid.
    """
    return serialized(find_dag(dag_id, file))


def find_dag(dag_id: str, file: Path | None) -> DAG:
    """Return the DAG ``dag_id``, valid, from ``file`` or from the first file of the dags folder that has it.

    Raises:
        DagFileError: the file cannot be run.
        CliError: no file defines the DAG.
        DagError: the DAG is not valid.
    """
    folder = edge.settings().path("dags_folder")
    if file is not None:
        return _from_file(dag_id, _existing(file, folder), folder)
    known: list[str] = []
    broken: list[DagFileError] = []
    for path in _candidates(folder, dag_id):
        try:
            dags = _run(path, folder)
        except DagFileError as error:
            broken.append(error)
            continue
        if dag_id in dags:
            # The others' mistakes are not what was asked for: only this one is validated.
            validate(dags[dag_id])
            return dags[dag_id]
        known += dags
    raise CliError(_not_found(dag_id, str(folder), known, broken))


def load(path: Path, folder: Path) -> dict[str, DAG]:
    """Run the file ``path`` and return its DAGs, each validated; modules beside it and in ``folder`` can be imported.

    Raises:
        DagFileError: the file fails.
        DagError: one of its DAGs is not valid.
    """
    found = _run(path, folder)
    for dag in found.values():
        validate(dag)
    return found


def _run(path: Path, folder: Path) -> dict[str, DAG]:
    for place in (str(path.parent), str(folder)):
        if place not in sys.path:
            sys.path.insert(0, place)
    inside = path.is_relative_to(folder)
    try:
        with masked_output():
            found = load_dag_file(str(path.relative_to(folder) if inside else path), str(folder)).dags
    except loading.DagFileError as error:
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None
        raise DagFileError(_failure(path, error.__cause__ or error)) from error.__cause__
    return dict(found)


def _from_file(dag_id: str, path: Path, folder: Path) -> DAG:
    dags = load(path, folder)
    if dag_id not in dags:
        raise CliError(_not_found(dag_id, str(path), list(dags), []))
    return dags[dag_id]


def _existing(file: Path, folder: Path) -> Path:
    for path in (file, folder / file):
        if path.is_file():
            return path.absolute()
    raise CliError(f"there is no file {file}, here or in {folder}")


def _candidates(folder: Path, dag_id: str) -> Iterator[Path]:
    """Yield the DAG files as the DAG processor finds them, those first whose text holds the id."""
    files = list_files(str(folder))
    if files is None:
        raise CliError(f"the dags folder {folder} cannot be read: make it, set TREADLE_DAGS_FOLDER, or give --file")
    texts = {folder / file: read_file(str(folder / file)) or b"" for file in files}
    paths = [path for path, text in texts.items() if may_define_dags(text)]
    # An id that is put together at run time stands in no text, so the others follow.
    yield from sorted(paths, key=lambda path: dag_id.encode() not in texts[path])


def _failure(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    if isinstance(error, DagError):
        return str(error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return masking.mask(f"{path}, line {lines[-1] if lines else '?'}: {type(error).__name__}: {error}")


def _not_found(dag_id: str, where: str, known: list[str], broken: list[DagFileError]) -> str:
    close = difflib.get_close_matches(dag_id, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    failed = f"; one file cannot be run: {broken[0]}" if broken else ""
    return f"DAG {dag_id!r} was not found in {where}{hint}{failed}"
