"""Which errors of the database say that asking the same later makes sense."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError, TimeoutError

from treadle_metadata.connection import is_passing


def raised(error: psycopg.Error, kind: type[DBAPIError] = OperationalError) -> DBAPIError:
    return kind("SELECT", {}, error)


@pytest.mark.parametrize(
    "error",
    [
        raised(psycopg.OperationalError("connection refused")),
        raised(psycopg.InterfaceError("the connection is closed"), InterfaceError),
        raised(psycopg.errors.AdminShutdown()),
        raised(psycopg.errors.TooManyConnections()),
        raised(psycopg.errors.DiskFull()),
        raised(psycopg.errors.DeadlockDetected()),
        raised(psycopg.errors.ReadOnlySqlTransaction()),
        raised(psycopg.errors.IdleInTransactionSessionTimeout()),
        TimeoutError("the pool has no connection"),
    ],
)
def test_a_database_that_is_away_full_or_in_haste_may_be_asked_again(error: Exception) -> None:
    assert is_passing(error)


@pytest.mark.parametrize(
    "error",
    [
        raised(psycopg.errors.ProgramLimitExceeded()),
        raised(psycopg.errors.StatementTooComplex()),
        raised(psycopg.errors.UniqueViolation(), IntegrityError),
        KeyError("x"),
    ],
)
def test_what_the_database_can_never_do_is_a_fault_of_what_was_asked(error: Exception) -> None:
    assert not is_passing(error)
