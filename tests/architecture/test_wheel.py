"""What a built wheel holds: our packages, the migrations, and no name that belongs to nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.support import code


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the files in the wheel: the one of ``TREADLE_TEST_WHEEL``, else one built here."""
    given = os.environ.get("TREADLE_TEST_WHEEL")
    if given:
        wheel = code.ROOT / given
    else:
        folder = tmp_path_factory.mktemp("wheel")
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
        ran = subprocess.run(command, cwd=code.ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        (wheel,) = Path(folder).glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_only_our_names_get_into_site_packages(names: list[str]) -> None:
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {
        path.name for one in code.COMPONENTS for path in (code.ROOT / one).glob("treadle*") if path.is_dir()
    }


def test_the_migrations_are_within(names: list[str]) -> None:
    versions = {path.name for path in (code.ROOT / "migrations" / "versions").iterdir() if path.is_file()}
    assert versions
    assert {f"treadle_metadata/migrations/versions/{name}" for name in versions} <= set(names)
    assert "treadle_metadata/migrations/env.py" in names


def test_the_web_pages_are_within(names: list[str]) -> None:
    assert "treadle_webserver/built_ui/index.html" in names
    assert any(name.startswith("treadle_webserver/built_ui/bundles/") and name.endswith(".js") for name in names)


def test_each_package_is_marked_as_typed(names: list[str]) -> None:
    packages = {name.split("/")[0] for name in names if name.endswith(".py")}
    assert {f"{package}/py.typed" for package in packages} <= set(names)


def test_nothing_of_the_build_machine_is_within(names: list[str]) -> None:
    assert [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".log", ".toml"))] == []
