"""Two admins deactivate each other at the same moment: one of them remains."""

from __future__ import annotations

import threading

import pytest
from tests.support.waiting import wait_until

from treadle_metadata.accounts import create_account, list_accounts, set_active, staying_managed
from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.errors import ConflictError
from treadle_metadata.rights.roles import set_role
from treadle_metadata.statements import rows


def test_of_two_admins_who_deactivate_each_other_one_remains(database: Database, clock: ManualClock) -> None:
    with database.begin() as connection:
        for username in ("ann", "bob"):
            create_account(connection, username, "correct horse battery", "Admin", now=clock.now())
    errors: list[Exception] = []

    def deactivate_ann() -> None:
        try:
            database.run(lambda connection: set_active(connection, "ann", False))
        except Exception as error:
            errors.append(error)

    second = threading.Thread(target=deactivate_ann)
    with database.begin() as connection:
        set_active(connection, "bob", False)
        second.start()
        wait_until(lambda: errors or _waits(database), 10)
        assert errors == []
    second.join(10)
    with pytest.raises(ConflictError, match="the last active account"):
        raise errors[0]
    with database.begin() as connection:
        assert [one.username for one in list_accounts(connection) if one.is_active] == ["ann"]


def _waits(database: Database) -> bool:
    with database.begin() as connection:
        return bool(rows(connection, "SELECT FROM pg_locks WHERE NOT granted"))


def test_the_role_of_the_last_who_may_manage_accounts_does_not_lose_that(
    database: Database, clock: ManualClock
) -> None:
    with database.begin() as connection:
        set_role(connection, "Keeper", ["manage accounts"], now=clock.now())
        create_account(connection, "kim", "correct horse battery", "Keeper", now=clock.now())
    with (
        pytest.raises(ConflictError, match="the last active account"),
        database.begin() as connection,
        staying_managed(connection),
    ):
        set_role(connection, "Keeper", ["read DAGs"], now=clock.now())
    with database.begin() as connection, staying_managed(connection):
        set_role(connection, "Keeper", ["manage accounts", "read DAGs"], now=clock.now())
