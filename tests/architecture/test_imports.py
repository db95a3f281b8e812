"""What imports what: the layers, the bare SDK, and settings that stay few."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from tests.support import code

from treadle_metadata.settings import Settings

MOST_SETTINGS = 40


def _imported_by(statement: str) -> set[str]:
    """Return the top-level modules, but for Python's own, that a fresh Python imports for ``statement``."""
    script = f"""
import sys, json
before = set(sys.modules)
{statement}
print(json.dumps(sorted({{name.split(".")[0] for name in set(sys.modules) - before}})))
"""
    # -S: the site's own .pth files must not count; the packages' folders come by the path.
    path = ":".join([*(str(code.ROOT / one) for one in code.COMPONENTS), *_site_packages()])
    ran = subprocess.run(
        [sys.executable, "-S", "-c", script], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return {name for name in json.loads(ran.stdout) if name not in sys.stdlib_module_names}


def _site_packages() -> list[str]:
    return [entry for entry in sys.path if Path(entry).name == "site-packages"]


def test_layers_are_kept() -> None:
    ran = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=code.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_importing_the_sdk_imports_nothing_of_others() -> None:
    assert _imported_by("import treadle") == {"treadle"}


def test_a_worker_needs_no_database_package() -> None:
    imported = _imported_by("import treadle_worker.protocol")
    assert imported <= {"treadle", "treadle_worker"}


@pytest.mark.parametrize("package", ["treadle_metadata.migration", "treadle_metadata.processes"])
def test_daemons_do_not_pay_for_alembic(package: str) -> None:
    assert "alembic" not in _imported_by(f"import {package}")


def test_settings_stay_few_and_each_is_explained() -> None:
    assert len(fields(Settings)) <= MOST_SETTINGS
    assert [one.name for one in fields(Settings) if not str(one.metadata.get("help", "")).endswith(".")] == []
