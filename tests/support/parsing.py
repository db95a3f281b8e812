"""A DAG processor in a thread of the test's process, with its children and the real database."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_until

from treadle_metadata.clock import SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import rows
from treadle_scheduler.parsing.processor import Processor

DAG_FILE = """
from datetime import datetime
from treadle import DAG, EmptyOperator

with DAG({dag_id!r}, {arguments}):
    EmptyOperator(task_id="first") >> EmptyOperator(task_id="second")
{extra}
"""


def dag_text(dag_id: str, arguments: str = "", extra: str = "") -> str:
    """Return the text of a small DAG file."""
    return DAG_FILE.format(dag_id=dag_id, arguments=arguments, extra=extra)


class Parsed:
    """The dags folder of ``settings``, and what the database says of it."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.settings = settings
        self.folder: Path = settings.path("dags_folder")

    def write(self, name: str, text: str) -> Path:
        """Write a file of the dags folder in one step, as editors do."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.new")
        unfinished.write_text(text)
        unfinished.replace(path)
        return path

    def select(self, sql: Any, **parameters: Any) -> list[Mapping[str, Any]]:
        """Run a query."""
        with self.database.begin() as connection:
            return list(rows(connection, sql, parameters))

    def dag(self, dag_id: str) -> Mapping[str, Any] | None:
        """Return a DAG's row."""
        found = self.select("SELECT * FROM dag WHERE dag_id = %(dag_id)s", dag_id=dag_id)
        return found[0] if found else None

    def versions(self, dag_id: str) -> list[Mapping[str, Any]]:
        """Return a DAG's versions, the oldest first."""
        return self.select(
            """
            SELECT version.*, source AS code,
                   (SELECT count(*) FROM dag_version_code AS had WHERE had.version_id = version.id) AS texts
            FROM dag_version AS version JOIN dag_code ON dag_code.hash = version.file_hash
            WHERE dag_id = %(dag_id)s ORDER BY number
            """,
            dag_id=dag_id,
        )

    def error(self, file: str) -> Mapping[str, Any] | None:
        """Return a file's error."""
        found = self.select("SELECT * FROM import_error WHERE file = %(file)s", file=file)
        return found[0] if found else None

    def warnings(self, dag_id: str) -> dict[str, str]:
        """Return a DAG's warnings by kind."""
        found = self.select("SELECT kind, message FROM dag_warning WHERE dag_id = %(dag_id)s", dag_id=dag_id)
        return {row["kind"]: row["message"] for row in found}

    def parsed_at(self, file: str) -> Any:
        """Return when a file was last parsed, or None."""
        found = self.select("SELECT parsed_at FROM dag_file WHERE file = %(file)s", file=file)
        return found[0]["parsed_at"] if found else None

    def wait_for_dag(self, dag_id: str, **columns: Any) -> Mapping[str, Any]:
        """Return a DAG's row once it is there and has these values."""

        def is_there() -> Mapping[str, Any] | None:
            row = self.dag(dag_id)
            return row if row is not None and all(row[name] == value for name, value in columns.items()) else None

        return wait_until(is_there)

    def wait_for_error(self, file: str, words: str = "", timeout: float = 10.0) -> Mapping[str, Any]:
        """Return a file's error once it is there and has these words."""

        def is_there() -> Mapping[str, Any] | None:
            row = self.error(file)
            return row if row is not None and words in row["message"] else None

        return wait_until(is_there, timeout)

    def wait_for_parse(self, file: str, after: Any = None) -> Any:
        """Return when a file was parsed, once that is another time than ``after``."""
        return wait_until(lambda: (found := self.parsed_at(file)) != after and found)


@contextmanager
def running(parsed: Parsed, environment: Mapping[str, str] | None = None) -> Iterator[Processor]:
    """Run a processor while the block runs."""
    environ = {"PATH": "/usr/bin:/bin"} if environment is None else environment
    processor = Processor(parsed.database, SystemClock(), parsed.settings, environ)
    failure: list[BaseException] = []

    def run() -> None:
        try:
            processor.run()
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="processor")
    thread.start()
    try:
        yield processor
    finally:
        processor.stop()
        thread.join()
    if failure:
        raise failure[0]
