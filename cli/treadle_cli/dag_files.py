"""DAG files read in this process, for commands that need no server: ``dags show|test|next-execution``, ``tasks test``.

User code runs here with the rights of whoever typed the command. A DAG named without its file is searched in the dags
folder: files whose text holds the id are run first, and the search ends with the first that defines it.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from treadle import collection
from treadle.document import DagDocument
from treadle.serialization import document_of as serialized
from treadle.serialization import validate
from treadle_cli import edge
from treadle_cli.errors import CliError

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
            dags = load(path, folder)
        except DagFileError as error:
            broken.append(error)
            continue
        if dag_id in dags:
            return dags[dag_id]
        known += dags
    raise CliError(_not_found(dag_id, str(folder), known, broken))


def load(path: Path, folder: Path) -> dict[str, DAG]:
    """Run the file ``path`` and return its DAGs, each validated; modules beside it and in ``folder`` can be imported.

    Raises:
        DagFileError: the file fails.
        DagError: one of its DAGs is not valid.
    """
    for place in (str(path.parent), str(folder)):
        if place not in sys.path:
            sys.path.insert(0, place)
    collection.begin()
    dags = collection.collect(vars(_run(path)).values())
    for dag in dags:
        validate(dag)
    return {dag.dag_id: dag for dag in dags}


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
    if not folder.is_dir():
        raise CliError(f"the dags folder {folder} does not exist: make it, set TREADLE_DAGS_FOLDER, or give --file")
    paths = [path for path in sorted(folder.rglob("*.py")) if not _is_hidden(path.relative_to(folder))]
    texts = {path: path.read_bytes() for path in paths if path.is_file()}
    names_it = [path for path, text in texts.items() if dag_id.encode() in text]
    yield from names_it
    # An id that is put together at run time stands in no text.
    yield from (path for path, text in texts.items() if path not in set(names_it) and b"treadle" in text)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def _run(path: Path) -> ModuleType:
    name = f"treadle_dag_file_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DagFileError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise DagFileError(_failure(path, error)) from error
    return module


def _failure(path: Path, error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {error.msg}"
    if type(error).__module__ == "treadle.errors":
        return str(error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}, line {lines[-1] if lines else '?'}: {type(error).__name__}: {error}"


def _not_found(dag_id: str, where: str, known: list[str], broken: list[DagFileError]) -> str:
    close = difflib.get_close_matches(dag_id, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    failed = f"; one file cannot be run: {broken[0]}" if broken else ""
    return f"DAG {dag_id!r} was not found in {where}{hint}{failed}"
