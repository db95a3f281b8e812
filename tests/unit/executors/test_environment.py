"""What a runner host may not inherit (design section 10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treadle_executors.environment import scrubbed, secrets_of
from treadle_metadata.settings import Settings

SETTINGS = Settings(
    database_url="postgresql://treadle:p%40ssword@db/treadle",
    fernet_key="newest-key,older-key",
    jwt_secret="signing-secret",
)


def test_the_users_variables_stay() -> None:
    environ = {"PATH": "/bin", "HOME": "/root", "LC_ALL": "C", "TZ": "UTC", "AWS_REGION": "eu", "PYTHONPATH": "/x"}
    assert scrubbed(environ, secrets_of(SETTINGS)) == environ


def test_our_settings_and_libpqs_variables_go_except_the_home() -> None:
    environ = {
        "TREADLE_HOME": "/home",
        "TREADLE_DATABASE_URL": "x",
        "TREADLE_FERNET_KEY": "x",
        "TREADLE_JWT_SECRET": "x",
        "TREADLE_PARALLELISM": "4",
        "PGPASSWORD": "x",
        "PGHOST": "x",
    }
    assert scrubbed(environ, []) == {"TREADLE_HOME": "/home"}


def test_a_variable_of_any_name_that_holds_a_secret_goes() -> None:
    environ = {
        "DATABASE_URL": "postgresql://other:p%40ssword@db/treadle",
        "DB_PASSWORD": "p@ssword",
        "OLD_KEY": "older-key",
        "DEBUG": "secret is signing-secret!",
        "HARMLESS": "yes",
    }
    assert scrubbed(environ, secrets_of(SETTINGS)) == {"HARMLESS": "yes"}


@pytest.mark.parametrize("password", ["a#secret", "a[secret", "a?secret"])
def test_a_password_is_found_with_any_character_that_the_driver_takes(password: str) -> None:
    settings = replace(SETTINGS, database_url=f"postgresql://treadle:{password}@db/treadle")
    assert scrubbed({"DB_PASSWORD": password, "HARMLESS": "yes"}, secrets_of(settings)) == {"HARMLESS": "yes"}


def test_a_short_secret_does_not_take_unrelated_variables_with_it() -> None:
    assert scrubbed({"NAME": "x1"}, ["1"]) == {"NAME": "x1"}


def test_what_tasks_are_meant_to_read_stays_when_it_is_asked_for() -> None:
    environ = {"TREADLE_VAR_A": "1", "TREADLE_CONN_B": "postgresql://u:p@h/d", "TREADLE_FERNET_KEY": "k" * 20}
    assert scrubbed(environ, ["k" * 20], kept=("TREADLE_VAR_", "TREADLE_CONN_")) == {
        "TREADLE_VAR_A": "1",
        "TREADLE_CONN_B": "postgresql://u:p@h/d",
    }
    assert scrubbed(environ, []) == {}
