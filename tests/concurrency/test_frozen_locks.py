"""What a stopped scheduler holds (the locks of a transaction that it was in) is free again after a while."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import InternalError, OperationalError
from tests.support.waiting import wait_until

from treadle_metadata import claims
from treadle_metadata.connection import Database


def test_a_transaction_in_which_nothing_happens_ends_and_frees_its_locks(own_database: Database) -> None:
    """A scheduler that is stopped while it admits tasks must not keep all others from it for ever."""
    stopped = Database(own_database.url, idle_seconds=0.2)
    with stopped.engine.connect() as connection:
        assert claims.try_admission_lock(connection)
        assert not own_database.run(claims.try_admission_lock)
        wait_until(lambda: own_database.run(claims.try_admission_lock))
        with pytest.raises((InternalError, OperationalError)):
            claims.try_admission_lock(connection)
    assert stopped.run(claims.try_admission_lock)
    stopped.close()
