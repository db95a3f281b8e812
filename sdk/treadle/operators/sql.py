"""A task that runs SQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from typing import Any

from treadle.connections import Connection
from treadle.databases import Parameters, opened
from treadle.errors import InvalidArgumentError
from treadle.operators.base import BaseOperator
from treadle.templates import TemplateFile

Statement = str | TemplateFile


def fetch_all(cursor: Any) -> list[list[Any]] | None:
    """Return the rows of a cursor as lists, None where a statement returns none: the default ``handler``."""
    return [list(row) for row in cursor.fetchall()] if cursor.description else None


class SQLExecuteQueryOperator(BaseOperator):
    """Runs ``sql``, a statement or several, in one transaction; the rows of the last one are the task's XCom.

    On connections of PostgreSQL (psycopg) and SQLite. ``parameters`` fill the driver's placeholders, in each statement:
    values never become part of the text, as they do in a template. ``handler(cursor)`` makes the XCom of a statement;
    with ``return_last=False`` that of each is in a list. With ``autocommit`` each statement is committed by itself.

    Raises:
        InvalidArgumentError: there is no statement.
    """

    template_fields: Collection[str] = ("sql", "parameters")

    def __init__(
        self,
        *,
        sql: Statement | Sequence[Statement],
        conn_id: str,
        parameters: Parameters = None,
        autocommit: bool = False,
        handler: Callable[[Any], Any] = fetch_all,
        return_last: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.sql: Any = sql if isinstance(sql, (str, TemplateFile)) else list(sql)
        self.conn_id = conn_id
        self.parameters: Any = parameters
        self.autocommit = autocommit
        self.handler = handler
        self.return_last = return_last
        if not sql:
            raise InvalidArgumentError(repr(self), "sql", sql, "a statement, or a list of them", site=self.site)

    def execute(self, context: Any) -> Any:  # noqa: ARG002 - the contract of operators
        """Run the statements; the transaction is rolled back if one fails.

        Raises:
            ConnectionNotFoundError: there is no such connection.
            ConnectionFormatError: it is of a type that is not known here.
        """
        statements = self.sql if isinstance(self.sql, list) else [self.sql]
        results = []
        with closing(opened(Connection.get(self.conn_id))) as database:
            for sql in statements:
                self.log.info("Running %s", sql)
                cursor = database.execute(sql, self.parameters) if self.parameters else database.execute(sql)
                results.append(self.handler(cursor))
                if self.autocommit:
                    database.commit()
            database.commit()
        return results[-1] if self.return_last else results
