"""What a failed statement says of itself goes into logs, so it names no value that it was given."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from treadle_metadata.connection import Database
from treadle_metadata.statements import execute


@pytest.mark.parametrize("plan_once", [False, True])
def test_a_failed_statement_does_not_tell_its_values(database: Database, plan_once: bool) -> None:
    other = Database(database.url, plan_once=plan_once)
    try:
        with pytest.raises(DBAPIError) as plain, other.begin() as connection:
            connection.execute(text("SELECT 1 / (length(:given) - 6)"), {"given": "sesame"})
        with pytest.raises(DBAPIError) as direct, other.begin() as connection:
            execute(connection, "SELECT 1 / (length(%(given)s::text) - 6)", {"given": "sesame"})
    finally:
        other.close()
    for error in (plain, direct):
        assert "division by zero" in str(error.value)
        assert "sesame" not in str(error.value)
