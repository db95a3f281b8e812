"""What is to be stored of a batch of parsed files: which DAGs, as which version, and which errors instead.

Pure. Called by ``storing`` with what the database knows of these DAGs. An unknown pool or an id that another file owns
makes an error of that DAG alone; it keeps its last good version.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from treadle.timetables.base import DataInterval
from treadle_metadata.catalog.parsed import EXECUTOR, SLOW, UNSTABLE, DagWarning, FileError, ParsedDag, ParsedFile
from treadle_metadata.catalog.versioning import Field, Verdict, judge, line_of
from treadle_metadata.errors import shown

Json = Any
DEFAULT_POOL = "default_pool"


@dataclass(frozen=True, slots=True)
class Stored:
    """A DAG as the database has it. ``document`` is there only for a DAG whose digest has changed."""

    dag_id: str
    file: str
    is_active: bool
    version_id: int | None
    digest: str | None
    file_hash: str | None
    last: DataInterval | None = None
    next_run_at: datetime | None = None
    document: Json | None = None
    inputs: Mapping[str, Json] = field(default_factory=dict)
    """What its file had read when it was stored."""
    team: str | None = None


@dataclass(frozen=True, slots=True)
class Owners:
    """The team of each pool ("" or absent: everybody's) and of each file (None: nobody's)."""

    pools: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str | None] = field(default_factory=dict)


NO_OWNERS: Final = Owners()


@dataclass(frozen=True, slots=True)
class Accepted:
    """A DAG to be stored."""

    dag: ParsedDag
    file: ParsedFile
    stored: Stored | None
    verdict: Verdict

    @property
    def plans_anew(self) -> bool:
        """Whether the time of the next run must be worked out: a new version, or a DAG that came back."""
        return self.verdict.is_new or self.stored is None or not self.stored.is_active

    @property
    def updates_code(self) -> bool:
        """Whether the stored version gets the file's new text: the structure is the same, the functions may not be."""
        return not self.verdict.is_new and self.stored is not None and self.stored.file_hash != self.file.state.hash


@dataclass(frozen=True, slots=True)
class Decisions:
    """What to store, and the errors by file."""

    accepted: tuple[Accepted, ...]
    errors: Mapping[str, Sequence[FileError]]
    warnings: tuple[DagWarning, ...]


def decide(
    files: Sequence[ParsedFile],
    stored: Mapping[str, Stored],
    pools: Collection[str],
    owners: Owners = NO_OWNERS,
    executors: Collection[str] = (),
) -> Decisions:
    """Decide for a batch; files are taken in the order of their names, so that the outcome does not hang on chance.

    ``executors`` are those of this installation, if they are known.
    """
    ordered = sorted(files, key=lambda one: one.file)
    errors = {one.file: list(one.errors) for one in ordered}
    accepted: list[Accepted] = []
    for dag, file, taken in _owned(ordered, stored, owners):
        error = taken or _unknown_pool(dag, file, pools, owners)
        if error is not None:
            errors[file.file].append(error)
            continue
        known = stored.get(dag.dag_id)
        accepted.append(Accepted(dag, file, known, _verdict(dag, file, known)))
    return Decisions(tuple(accepted), errors, tuple(_warnings(accepted, executors)))


def needs_document(dag: ParsedDag, stored: Stored | None) -> bool:
    """Tell whether the stored document must be read to decide about ``dag``."""
    return stored is not None and stored.digest != dag.digest


def _verdict(dag: ParsedDag, file: ParsedFile, known: Stored | None) -> Verdict:
    if known is None or known.digest is None:
        return judge(None, dag.document, dag.again, inputs_changed=True)
    moved = known.file != file.file
    if known.digest == dag.digest:
        return Verdict(moved)
    inputs_changed = known.file_hash != file.state.hash or known.inputs != file.state.inputs
    verdict = judge(known.document, dag.document, dag.again, inputs_changed=inputs_changed)
    # A version names the file that its tasks are loaded from, and is read once: another file is another version.
    return Verdict(verdict.is_new or moved, verdict.unstable)


def _owned(
    files: Sequence[ParsedFile], stored: Mapping[str, Stored], owners: Owners
) -> Iterator[tuple[ParsedDag, ParsedFile, FileError | None]]:
    """Yield each DAG with its file and, if the id belongs to another file or team, the error that says so.

    Of several files the first that may define an id has it: one that may not keeps it from none that may.
    """
    defining: dict[str, list[str]] = {}
    for file in files:
        for dag in file.dags:
            if _foreign_id(dag, file, stored, owners) is None:
                defining.setdefault(dag.dag_id, []).append(file.file)
    let_go = {file.file for file in files if not file.failed}
    for file in files:
        for dag in file.dags:
            candidates = defining.get(dag.dag_id, [])
            known = stored.get(dag.dag_id)
            if known is not None and known.is_active and (known.file in candidates or known.file not in let_go):
                owner = known.file
            elif (error := _foreign_id(dag, file, stored, owners)) is not None:
                yield dag, file, error
                continue
            else:
                owner = candidates[0]
            yield dag, file, None if owner == file.file else _duplicate(dag, file, owner)


def _duplicate(dag: ParsedDag, file: ParsedFile, owner: str) -> FileError:
    line = dag.document.get("line")
    return FileError(
        f"{place(file.file, line)}: DAG {shown(dag.dag_id)} is defined in two files, {owner} and {file.file}; "
        f"the one in {owner} stays in use. Rename one of them or delete it",
        line,
        dag_id=dag.dag_id,
    )


def _foreign_id(dag: ParsedDag, file: ParsedFile, stored: Mapping[str, Stored], owners: Owners) -> FileError | None:
    """Keep a team from taking over the runs of another one's DAG by defining its id, when that one's file is gone."""
    known = stored.get(dag.dag_id)
    if known is None or known.team is None or known.file == file.file or known.team == owners.files.get(file.file):
        return None
    line = dag.document.get("line")
    return FileError(
        f"{place(file.file, line)}: the id {shown(dag.dag_id)} belongs to a DAG of another team, whose runs are kept; "
        f"choose another id, or have an administrator delete that DAG",
        line,
        dag_id=dag.dag_id,
    )


def _unknown_pool(dag: ParsedDag, file: ParsedFile, pools: Collection[str], owners: Owners) -> FileError | None:
    allowed = {"", owners.files.get(file.file)}
    for task in dag.document.get("tasks", ()):
        pool = task.get("pool", DEFAULT_POOL)
        if pool in pools and owners.pools.get(pool, "") in allowed:
            continue
        # The pools of other teams are not there for this one.
        pools = [one for one in pools if owners.pools.get(one, "") in allowed]
        line = task.get("line") or dag.document.get("line")
        close = difflib.get_close_matches(pool[:250], pools, n=1)
        make = "make it with 'treadle pools set'"
        advice = f"did you mean {close[0]!r}? Else {make}" if close else f"{make}, or correct the name"
        known = ", ".join(sorted(pools)[:20]) + (", ..." if len(pools) > 20 else "")
        return FileError(
            f"{place(file.file, line)}: task {shown(task['task_id'])} of DAG {shown(dag.dag_id)} names the pool "
            f"{shown(pool)}, which does not exist; {advice} (known pools: {known})",
            line,
            dag_id=dag.dag_id,
            missing_pool=pool,
        )
    return None


def place(file: str, line: int | None) -> str:
    """Return where something is, as the beginning of a message."""
    return file if line is None else f"{file}, line {line}"


def _warnings(accepted: Iterable[Accepted], executors: Collection[str]) -> Iterator[DagWarning]:
    for one in accepted:
        if executors and (unknown := _unknown_executor(one.dag, one.file, executors)):
            yield DagWarning(one.dag.dag_id, EXECUTOR, unknown)
        if one.verdict.unstable:
            yield DagWarning(one.dag.dag_id, UNSTABLE, _unstable(one.file.file, one.verdict.unstable, one.dag.document))
        if one.file.slow:
            yield DagWarning(one.dag.dag_id, SLOW, one.file.slow)


def _unstable(file: str, fields: Sequence[Field], document: Json) -> str:
    listed = ", ".join(str(one) for one in fields[:5]) + (f" and {len(fields) - 5} more" if len(fields) > 5 else "")
    return (
        f"{place(file, line_of(fields[0], document))}: {listed} came out differently when the file was read again "
        "without a change, so a change there makes no new version. Give a fixed value: no now(), random value or order "
        "of a set"
    )


def _unknown_executor(dag: ParsedDag, file: ParsedFile, executors: Collection[str]) -> str | None:
    """Return a warning, not an error: other tasks of the DAG can run, and the schedulers may know more executors."""
    for task in dag.document.get("tasks", ()):
        name = task.get("executor")
        if name is None or name in executors:
            continue
        close = difflib.get_close_matches(name[:250], executors, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else "."
        where = place(file.file, task.get("line") or dag.document.get("line"))
        return (
            f"{where}: task {shown(task['task_id'])} names the executor {shown(name)}, and this installation has "
            f"{', '.join(sorted(executors))}{meant} Its attempts fail until the name is corrected, or the executor is "
            "added to the setting executors"
        )
    return None
