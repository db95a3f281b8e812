"""Statements straight on libpq: prepared once for a connection, sent and awaited without a cursor.

``treadle_metadata.direct`` runs a daemon's statements here. A psycopg cursor takes some 60 microseconds of processor
time for each execution, most of which makes the cursor; this takes 20. Values are adapted by psycopg's own classes.
BEGIN goes out with the first statement of a transaction, and statements that do not need each other's answers go out
together (libpq's pipeline). Nothing is kept here that a lost connection would lose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, LiteralString, cast

import psycopg
from psycopg import generators, pq
from psycopg.abc import Buffer, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result

Statement = tuple[LiteralString, Mapping[str, Any]]
"""A text and its parameters."""

_PARAMETER: Final = re.compile(r"%(?:(%)|\((\w+)\)s)?")
_OUTDATED: Final = "RevalidateCachedQuery"
"""Where PostgreSQL refuses a prepared statement whose columns have changed, by a migration under way, with a code that
it has for much else."""

_BEGIN: Final[Statement] = ("BEGIN", {})


class Answer:
    """What came of one statement; asked as a cursor is."""

    __slots__ = ("_answer", "_rows")

    def __init__(self, answer: pq.abc.PGresult, rows: list[tuple[Any, ...]]) -> None:
        self._answer = answer
        self._rows = rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return self._rows

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [(self._answer.fname(column) or b"").decode() for column in range(self._answer.nfields)]

    @property
    def rowcount(self) -> int:
        """How many rows were returned or changed."""
        return len(self._rows) if self._answer.nfields else self._answer.command_tuples or 0


class Lane:
    """Runs statements on one connection of the driver, which nobody else uses meanwhile.

    ``kept`` is how many statements stay prepared. ``in_threads``: those who run them are threads of one process, where
    whoever waits must not wake for each piece of an answer: it would wait for the interpreter again each time. A signal
    is heard by the process's first thread, so nothing is lost by it.
    """

    def __init__(self, driver: psycopg.Connection[Any], kept: int = 1000, *, in_threads: bool = False) -> None:
        self._driver = driver
        self._kept = kept
        self._in_threads = in_threads
        self._libpq = driver.pgconn
        self._transformer = Transformer(driver)
        self._names: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._number = 0

    def run(self, statements: Sequence[Statement]) -> list[Answer]:
        """Run statements one after the other, all sent at once.

        Raises:
            psycopg.Error: one of them failed; those after it have not been run.
        """
        if len(self._names) >= self._kept:
            self._checked(self._libpq.exec_(b"DEALLOCATE ALL"))
            self._names.clear()
        bound = [self._bound(*one) for one in statements]
        begins = not self._driver.autocommit and self._libpq.transaction_status == pq.TransactionStatus.IDLE
        if len(bound) == 1 and self._in_threads:
            if begins:
                self._checked(self._libpq.exec_(b"BEGIN"))
            name, values, formats = bound[0]
            # None is NULL here as well; psycopg's type of it is too narrow.
            results = [self._libpq.exec_prepared(name, cast("list[Buffer]", values), formats)]
        elif len(bound) == 1 and not begins:
            self._libpq.send_query_prepared(*bound[0])
            results = [self._driver.wait(generators.execute(self._libpq))[-1]]
        else:
            results = self._piped([*([self._bound(*_BEGIN)] if begins else []), *bound])[begins:]
        return [self._answer(one) for one in results]

    def _bound(self, sql: str, parameters: Mapping[str, Any]) -> tuple[bytes, list[Buffer | None], list[pq.Format]]:
        """Return a prepared statement's name, its values and their formats."""
        text, names = _converted(sql)
        transformer = self._transformer
        values = list(transformer.dump_sequence([parameters[one] for one in names], [PyFormat.AUTO] * len(names)))
        types, formats = (transformer.types or (), list(transformer.formats or ())) if names else ((), [])
        name = self._names.get((text, types))
        if name is None:
            self._number += 1
            name = b"treadle_%d" % self._number
            self._checked(self._libpq.prepare(name, text, types))
            self._names[text, types] = name
        return name, values, formats

    def _piped(self, bound: Sequence[tuple[bytes, list[Buffer | None], list[pq.Format]]]) -> list[pq.abc.PGresult]:
        self._libpq.enter_pipeline_mode()
        try:
            for name, values, formats in bound:
                self._libpq.send_query_prepared(name, values, formats)
            self._libpq.pipeline_sync()
            results = self._driver.wait(_fetched(self._libpq, len(bound)))
            self._libpq.exit_pipeline_mode()
        except BaseException:
            # Answers may be under way still: nobody could tell them from those of what is asked next.
            self._libpq.finish()
            raise
        for one in results:
            self._checked(one)
        return results

    def _answer(self, result: pq.abc.PGresult) -> Answer:
        self._checked(result)
        if not result.ntuples:
            return Answer(result, [])
        self._transformer.set_pgresult(result)
        return Answer(result, self._transformer.load_rows(0, result.ntuples, tuple))

    def _checked(self, result: pq.abc.PGresult) -> None:
        if result.status in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            return
        error = error_from_result(result, encoding=self._transformer.encoding)
        if error.sqlstate is None:
            # Not the server's word: it is gone, and whoever asked may ask again later.
            raise psycopg.OperationalError(str(error)) from error
        if isinstance(error, psycopg.errors.InvalidSqlStatementName):
            # Somebody discarded what this session had prepared.
            self._names.clear()
        if error.diag.source_function == _OUTDATED:
            self._names.clear()
            # To be run again, as what was discarded is.
            raise psycopg.errors.InvalidSqlStatementName(str(error)) from error
        raise error


def _fetched(libpq: pq.abc.PGconn, number: int) -> PQGen[list[pq.abc.PGresult]]:
    """Send what is waiting, and return the results of so many statements."""
    yield from generators.send(libpq)
    results = []
    for _ in range(number):
        results += yield from generators.fetch_many(libpq)
    # What tells that the pipeline is empty.
    yield from generators.fetch_many(libpq)
    return results


@lru_cache(maxsize=1000)
def _converted(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a text as PostgreSQL wants it, and the names of its parameters in the order of their numbers."""
    numbers: dict[str, int] = {}

    def numbered(found: re.Match[str]) -> str:
        if found[0] == "%":
            raise psycopg.ProgrammingError(f"a % that begins no parameter must be doubled in {sql!r}")
        return "%" if found[1] else f"${numbers.setdefault(found[2], len(numbers) + 1)}"

    return _PARAMETER.sub(numbered, sql).encode(), tuple(numbers)
