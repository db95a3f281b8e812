"""Two fresh installations share no secret, and one keeps its own (case F2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle_cli.standalone import home
from treadle_metadata.settings import Settings, load

SECRETS = ("fernet_key", "jwt_secret", "database_url")


def made(folder: Path) -> Settings:
    folder.mkdir(exist_ok=True)
    return home.with_secrets(load({}, home=folder))[0]


@pytest.mark.parametrize("name", SECRETS)
def test_two_fresh_homes_have_different_secrets(tmp_path: Path, name: str) -> None:
    first, second = (str(getattr(made(tmp_path / one), name)) for one in ("first", "second"))
    hidden = [one.split(":")[2].split("@")[0] if name == "database_url" else one for one in (first, second)]
    assert hidden[0] != hidden[1]
    assert all(len(one) >= 20 for one in hidden)


def test_a_home_keeps_its_secrets(tmp_path: Path) -> None:
    first, again = made(tmp_path / "one"), made(tmp_path / "one")
    assert [getattr(first, name) for name in SECRETS] == [getattr(again, name) for name in SECRETS]


def test_a_secret_that_is_given_is_not_replaced(tmp_path: Path) -> None:
    given = "given by hand, and longer than 32 characters"
    settings, _ = home.with_secrets(load({"TREADLE_JWT_SECRET": given}, home=tmp_path))
    assert settings.jwt_secret == given
    assert given not in (tmp_path / "secrets.toml").read_text()
