"""From a child's end to what is stored: the child's frame is data from user code, and is taken as such.

Pure, but for reading the state of a file whose child could not tell it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from typing import Any

from treadle_metadata.catalog import FileError, FileState, ParsedDag, ParsedFile
from treadle_scheduler.parsing.agenda import inputs_of
from treadle_scheduler.parsing.failures import Limits, clean, error_of_answer, error_of_end
from treadle_scheduler.parsing.job import Job
from treadle_scheduler.parsing.listing import read_file


def parsed_file(
    job: Job, folder: str, parser: str, limits: Limits, *, dag_files: Collection[str], seconds: float
) -> ParsedFile:
    """Return what ``job`` found. A DAG that is a global name of another DAG file belongs to that file."""
    answer = job.answer
    if answer is None:
        error = error_of_end(job.file, job.cause, job.status or 0, limits, job.output)
        return ParsedFile(job.file, _state_on_disk(folder, job.file, parser), round(seconds, 4), errors=(error,))
    try:
        return _from_answer(job, answer, folder, parser, limits, dag_files, seconds)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"{job.file}: the parsing process gave an answer that makes no sense ({error!r})"
        broken = FileError(clean(text, 1000))
        return ParsedFile(job.file, _state_on_disk(folder, job.file, parser), round(seconds, 4), errors=(broken,))


def _from_answer(
    job: Job,
    answer: Mapping[str, Any],
    folder: str,
    parser: str,
    limits: Limits,
    dag_files: Collection[str],
    seconds: float,
) -> ParsedFile:
    def is_own(found: Mapping[str, Any]) -> bool:
        origin = found.get("origin")
        return origin is None or origin == job.file or origin not in dag_files

    dags = [dag for dag in answer.get("dags", ()) if is_own(dag)]
    errors = [error for error in answer.get("errors", ()) if is_own(error)]
    if "state" in answer:
        mtime_ns, size, digest = answer["state"]
        state = FileState(int(mtime_ns), int(size), str(digest), inputs_of(parser, answer.get("inputs")))
    else:
        state = _state_on_disk(folder, job.file, parser)
    return ParsedFile(
        job.file,
        state,
        float(answer.get("seconds", round(seconds, 4))),
        code=clean(str(answer.get("code") or ""), 10_000_000),
        dags=tuple(
            ParsedDag(str(dag["dag_id"]), dict(dag["document"]), str(dag["digest"]), dag.get("again")) for dag in dags
        ),
        errors=tuple(error_of_answer(job.file, error, limits, job.output) for error in errors),
        slow=None if answer.get("slow") is None else clean(str(answer["slow"]), 2000),
    )


def _state_on_disk(folder: str, file: str, parser: str) -> FileState:
    path = os.path.join(folder, file)
    content = read_file(path) or b""
    try:
        mtime_ns = os.stat(path).st_mtime_ns
    except OSError:
        mtime_ns = 0
    return FileState(mtime_ns, len(content), hashlib.sha256(content).hexdigest(), inputs_of(parser, None))
