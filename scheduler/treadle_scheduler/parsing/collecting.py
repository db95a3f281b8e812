"""From a DAG file's bytes to documents, in the parse child: runs the file, collects its DAGs, checks each.

An error of one DAG leaves the file's other DAGs alone. When a document differs from the stored one, or is new and looks
as if it might move, the file is run a second time: what then comes out differently is named as unstable (cases B11,
G3). Errors are plain dicts, ready to be sent.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any, Final

from treadle import collection
from treadle.dag_decorator import DagFunction
from treadle.dags import DAG
from treadle.digest import digest_of
from treadle.document import to_json
from treadle.errors import DagError
from treadle.serialization import document_of, validate
from treadle.timetables.factory import from_document
from treadle_scheduler.parsing.inputs import modules_since
from treadle_worker.loading import module_name

Json = Any
Error = dict[str, Any]

SECOND_RUN_SECONDS: Final = 1.0
"""A file that takes longer is not run twice; what moves with time shows when it is parsed again."""

_MOVING: Final = re.compile(
    rb"now\(|today\(|\btime\(|random|uuid|\bhash\(|\bid\(|getpid|\bset\(|object\(|^\s*(from|import)\s+(?!treadle|datetime)",
    re.MULTILINE,
)
"""What a file that gives another document each time is likely to hold; any module but ours may hide such a thing."""


@dataclass(frozen=True, slots=True)
class Source:
    """A DAG file: its path in the dags folder, its path on disk, and its bytes."""

    file: str
    path: str
    content: bytes
    folder: str


class FileFailed(Exception):
    """The file as a whole gives no DAGs; ``error`` says why."""

    def __init__(self, error: Error) -> None:
        super().__init__(error["message"])
        self.error = error


def collect(source: Source, known: Mapping[str, str], cron_style: str) -> dict[str, Any]:
    """Return ``dags`` and ``errors`` of the file.

    ``known`` are the stored digests by DAG id. Raises:
        FileFailed: the file cannot be compiled or run.
    """
    code = _compiled(source)
    began = time.monotonic()
    found, errors = _documents(source, _run(source, code), cron_style)
    seconds = time.monotonic() - began
    changed = [dag for dag in found if known.get(dag["dag_id"]) != dag["digest"]]
    doubtful = _MOVING.search(source.content) or any(dag["dag_id"] in known for dag in changed)
    if changed and doubtful and seconds < SECOND_RUN_SECONDS:
        _compare(source, code, found, cron_style)
    return {"dags": found, "errors": errors}


def _compiled(source: Source) -> CodeType:
    try:
        # dont_inherit: this module's own __future__ imports are no business of the file.
        return compile(source.content, source.path, "exec", dont_inherit=True)
    except SyntaxError as error:
        text = f"{place(source.file, error.lineno)}: {type(error).__name__}: {error.msg}"
        raise FileFailed(error_of(text, error.lineno, _trace(error))) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise FileFailed(error_of(f"{source.file}: cannot be read as Python: {error}", None, "")) from None


def _run(source: Source, code: CodeType) -> list[tuple[DAG, str | None]]:
    """Run the file and return its DAGs, each with the other file of the folder that it is a global name of."""
    name = module_name(source.file)
    spec = importlib.util.spec_from_file_location(name, source.path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    before = len(sys.modules)
    sys.modules[name] = module
    collection.begin()
    try:
        exec(code, module.__dict__)
        dags = collection.collect(list(vars(module).values()))
    except BaseException as error:
        raise FileFailed(_error_of_run(source, error)) from None
    if not dags:
        _refuse_uncalled(source, module)
    origins = _origins(source, [one for one in modules_since(before) if one is not module])
    return [(dag, origins.get(id(dag))) for dag in dags]


def _refuse_uncalled(source: Source, module: ModuleType) -> None:
    """Refuse a file without DAGs that defines a ``@dag`` function and forgets to call it, which Airflow passes over."""
    for value in vars(module).values():
        if isinstance(value, DagFunction) and value.site[0] == source.path:
            name, line = value.function.__name__, value.site[1]
            text = (
                f"{place(source.file, line)}: @dag function {name!r} is never called, so the file defines no DAG: "
                f"call it below, {name}(); a module that others import belongs into .treadleignore"
            )
            raise FileFailed({**error_of(text, line, ""), "dag_id": value.dag_id})


def _origins(source: Source, modules: Sequence[ModuleType]) -> dict[int, str]:
    """Return the DAGs that are global names of other modules in the dags folder: the file merely imports them."""
    prefix = source.folder.rstrip(os.sep) + os.sep
    found: dict[int, str] = {}
    for module in modules:
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.startswith(prefix):
            dags = (value for value in vars(module).values() if isinstance(value, DAG))
            found |= {id(dag): path[len(prefix) :] for dag in dags}
    return found


def _documents(
    source: Source, dags: Sequence[tuple[DAG, str | None]], cron_style: str
) -> tuple[list[dict[str, Any]], list[Error]]:
    found: list[dict[str, Any]] = []
    errors: list[Error] = []
    for dag, origin in dags:
        try:
            found.append({**_document(dag, cron_style), "origin": origin})
        except Exception as error:
            errors.append({**_error_of_dag(source, dag, error), "dag_id": dag.dag_id, "origin": origin})
    return found, errors


def _document(dag: DAG, cron_style: str) -> dict[str, Any]:
    validate(dag)
    document = document_of(dag)
    from_document(document.schedule, default_style=cron_style)
    plain = to_json(document)
    _check_text(dag, plain)
    return {"dag_id": dag.dag_id, "document": plain, "digest": digest_of(plain)}


def _check_text(dag: DAG, value: Json) -> None:
    """Refuse what the database can hold in no text: NUL and halves of surrogate pairs."""
    if isinstance(value, str):
        if "\0" in value:
            raise DagError(f"{dag!r} holds a text with a NUL character: {value[:60]!r}", site=dag.site)
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise DagError(f"{dag!r} holds a text that is no Unicode: {value[:60]!a}", site=dag.site) from None
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _check_text(dag, name)
            _check_text(dag, item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_text(dag, item)


def _compare(source: Source, code: CodeType, found: list[dict[str, Any]], cron_style: str) -> None:
    """Run the file again, and add to each DAG the document that then came out, if it differs."""
    try:
        again, _ = _documents(source, _run(source, code), cron_style)
    except FileFailed:
        # Some files cannot be run twice in one process (they register something); that is no fault of theirs.
        return
    seconds = {dag["dag_id"]: dag for dag in again}
    for dag in found:
        other = seconds.get(dag["dag_id"])
        if other is not None and other["digest"] != dag["digest"]:
            dag["again"] = other["document"]


def _error_of_run(source: Source, error: BaseException) -> Error:
    line = _line_in(source.path, error)
    if isinstance(error, DagError):
        return _dag_error(source, error, _trace(error))
    if isinstance(error, MemoryError):
        return error_of("", line, _trace(error), cause="memory")
    if isinstance(error, SystemExit):
        text = f"the file ends its process with sys.exit({error.code!r}); a DAG file must only define DAGs"
    elif isinstance(error, SyntaxError) and error.filename:
        where = f"{os.path.basename(error.filename)}, line {error.lineno}"
        text = f"{type(error).__name__} in {where}: {error.msg}"
    elif isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "airflow":
        text = f"{_text(error)}; write `from treadle import DAG, task` (docs: Coming from Airflow)"
    else:
        text = f"{type(error).__name__}: {_text(error)}"
    return error_of(f"{place(source.file, line)}: {text}", line, _trace(error))


def _error_of_dag(source: Source, dag: DAG, error: Exception) -> Error:
    if isinstance(error, DagError):
        return _dag_error(source, error, "")
    text = _text(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {_text(error)}"
    return error_of(f"{place(source.file, dag.line)}: DAG {dag.dag_id!r}: {text}", dag.line, "")


def _dag_error(source: Source, error: DagError, trace: str) -> Error:
    file, line = error.file, error.line
    shown = source.file if file == source.path else os.path.relpath(file, source.folder) if file else source.file
    text = "\n".join([f"{place(shown, line)}: {error.fact}", *getattr(error, "__notes__", ())])
    return error_of(text.replace(source.path, source.file), line if file == source.path else None, trace)


def error_of(message: str, line: int | None, stacktrace: str, *, cause: str = "exception") -> Error:
    """Return an error as it is sent to the parent."""
    return {"cause": cause, "message": message, "line": line, "stacktrace": stacktrace}


def place(file: str, line: int | None) -> str:
    """Return where something is, as the beginning of a message."""
    return file if line is None else f"{file}, line {line}"


def _line_in(path: str, error: BaseException) -> int | None:
    """Return the last line of ``path`` itself on the way to the error."""
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    return lines[-1] if lines else None


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text cannot be made)"


def _trace(error: BaseException) -> str:
    """Return the traceback from the file's first frame on; ours says nothing to its author."""
    trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
    try:
        return "".join(traceback.format_exception(type(error), error, trace, limit=-40))
    except Exception:
        return f"{type(error).__name__} (its traceback cannot be made)"
