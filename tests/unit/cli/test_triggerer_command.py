"""``treadle triggerer`` and the triggerer of a standalone installation: what they are given, and what they are not."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from treadle_cli.main import root
from treadle_cli.standalone import triggerer
from treadle_metadata.settings import Settings
from treadle_metadata.triggerer_tokens import TriggererTokenError, TriggererTokens

SECRET = "a-secret-of-at-least-32-characters-0123"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_new_token_is_good_for_as_long_as_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_JWT_SECRET", SECRET)
    told = CliRunner().invoke(root, ["triggerer", "--new-token", "--days", "2"])
    assert told.exit_code == 0, told.output
    token, tokens = told.output.strip(), TriggererTokens(SECRET)
    tokens.check(token, now=datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(TriggererTokenError, match="expired"):
        tokens.check(token, now=datetime.now(UTC) + timedelta(days=3))


def test_without_a_secret_and_a_token_it_says_what_to_set() -> None:
    told = CliRunner().invoke(root, ["triggerer"])
    assert told.exit_code == 1
    assert "TREADLE_TRIGGERER_TOKEN" in told.output


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "é"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(TriggererTokenError, match="not one of this installation"):
        TriggererTokens(SECRET).check(token, now=NOW)


def test_an_older_key_still_counts_and_a_strangers_does_not() -> None:
    old = TriggererTokens(SECRET).issue(now=NOW)
    TriggererTokens(f"another-{SECRET},{SECRET}").check(old, now=NOW)
    with pytest.raises(TriggererTokenError):
        TriggererTokens(f"another-{SECRET}").check(old, now=NOW)


def test_the_triggerer_of_a_standalone_installation_is_given_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = Settings(
        home=tmp_path,
        database_url="postgresql://someone:sesame-sesame@localhost/treadle",
        fernet_key="k" * 43 + "=",
        jwt_secret=SECRET,
        port=8123,
    )
    monkeypatch.setenv("TREADLE_DATABASE_URL", settings.database_url)
    monkeypatch.setenv("MY_COPY_OF_IT", f"x{settings.fernet_key}")
    monkeypatch.setenv("TREADLE_CONN_API", "http://u:p@api.example.com")
    given: dict[str, Any] = {}
    monkeypatch.setattr(os, "execve", lambda _path, _arguments, environment: given.update(environment))

    triggerer.run(settings)

    assert given["TREADLE_EXECUTION_URL"] == "http://127.0.0.1:8123"
    assert given["TREADLE_CONN_API"] == "http://u:p@api.example.com"
    for secret in ("sesame-sesame", settings.fernet_key, SECRET):
        assert [name for name, value in given.items() if secret in value] == []
    TriggererTokens(SECRET).check(given["TREADLE_TRIGGERER_TOKEN"], now=datetime.now(UTC))
