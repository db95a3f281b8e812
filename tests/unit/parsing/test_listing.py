"""Which files of the dags folder are looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from treadle_scheduler.parsing.listing import list_files, may_define_dags


def _write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def test_python_files_are_listed_with_their_paths_below_the_folder(tmp_path: Path) -> None:
    _write(tmp_path, "a.py", "team/b.py", "team/notes.txt", ".hidden.py", ".git/c.py", "__pycache__/d.py", "é/ü.py")
    listing = list_files(str(tmp_path))
    assert listing is not None
    assert sorted(listing) == ["a.py", "team/b.py", "é/ü.py"]
    assert listing["a.py"].mtime_ns == (tmp_path / "a.py").stat().st_mtime_ns


def test_a_loop_of_symbolic_links_ends_and_lists_each_file_once(tmp_path: Path) -> None:
    _write(tmp_path, "team/a.py")
    (tmp_path / "team" / "again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "linked.py").symlink_to(tmp_path / "team" / "a.py")
    (tmp_path / "broken.py").symlink_to(tmp_path / "nowhere.py")
    assert sorted(list_files(str(tmp_path)) or {}) == ["team/a.py"]


def test_links_to_folders_elsewhere_are_followed(tmp_path: Path) -> None:
    _write(tmp_path / "elsewhere", "a.py")
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "team").symlink_to(tmp_path / "elsewhere")
    assert list(list_files(str(tmp_path / "dags")) or {}) == ["team/a.py"]


def test_ignore_files_of_each_folder_count(tmp_path: Path) -> None:
    _write(tmp_path, "a.py", "old/b.py", "team/c.py", "team/d.py", "team/deep/e.py")
    (tmp_path / ".treadleignore").write_text("old/\nd.py\n")
    (tmp_path / "team" / ".treadleignore").write_text("!d.py\ndeep\n")
    assert sorted(list_files(str(tmp_path)) or {}) == ["a.py", "team/c.py", "team/d.py"]


def test_a_folder_that_is_not_there_is_no_empty_folder(tmp_path: Path) -> None:
    assert list_files(str(tmp_path / "absent")) is None
    assert list_files(str(tmp_path)) == {}


def test_names_that_are_no_text_or_too_long_are_passed_over(tmp_path: Path) -> None:
    with open(os.path.join(os.fsencode(tmp_path), b"\xff.py"), "wb"):
        pass
    deep = tmp_path
    for _ in range(12):
        deep = deep / ("d" * 200)
    _write(tmp_path, "a.py")
    _write(deep, "b.py")
    assert list(list_files(str(tmp_path)) or {}) == ["a.py"]


@pytest.mark.parametrize(
    ("content", "may"),
    [
        (b"from treadle import DAG", True),
        (b"from airflow.sdk import dag", True),
        (b"import TREADLE; Dag", True),
        (b"import treadle", False),
        (b"dag = 1", False),
        (b"", False),
    ],
)
def test_only_files_that_name_us_and_a_dag_are_parsed(content: bytes, may: bool) -> None:
    assert may_define_dags(content) is may
