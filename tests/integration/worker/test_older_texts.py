"""Attempts of runs on an older version of their DAG run the text of that version, not what the file has by now."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.integration.worker.conftest import Rig

TEXT = """
def answer():
    return {answer!r}

@task
def tell():
    return [answer(), os.path.basename(__file__)]

@task
def fail():
    raise ValueError(answer())  # {answer}

tell(), fail()
"""
THREADED = "import threading\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"


def old_text(rig: Rig, before: str = "") -> str:
    """Write a DAG file, then a newer one over it; return the older one's text."""
    rig.dag(before + TEXT.format(answer="old"))
    (path,) = Path(rig.home, "dags").glob("*.py")
    old = path.read_text()
    rig.dag(before + TEXT.format(answer="new"))
    return old


def value_of(rig: Rig, **changes: object) -> str:
    finish = rig.run("tell", **changes)
    assert finish["outcome"] == "success", finish["error"]
    return finish["xcoms"][0]["value"]


def test_the_stored_text_runs_in_place_of_the_file_and_both_go_on_side_by_side(rig: Rig) -> None:
    old = old_text(rig)
    assert '"new"' in value_of(rig, file_hash="2")
    assert '"old"' in value_of(rig, file_hash="1", source=old)
    (path,) = Path(rig.home, "dags").glob("*.py")
    assert path.name in value_of(rig, file_hash="1", source=old)
    assert '"new"' in value_of(rig, file_hash="2")
    path.unlink()
    assert '"old"' in value_of(rig, file_hash="1", source=old)


def test_a_traceback_shows_the_lines_that_ran(rig: Rig) -> None:
    old = old_text(rig).replace("# old", "# the line that ran")
    finish = rig.run("fail", file_hash="1", source=old)
    assert finish["error"] is not None
    assert finish["error"]["message"] == "old"
    assert "# the line that ran" in finish["error"]["traceback"]


def test_a_file_that_leaves_threads_running_runs_its_stored_text_too(rig: Rig) -> None:
    old = old_text(rig, THREADED)
    assert '"old"' in value_of(rig, file_hash="1", source=old)


def test_a_file_that_was_edited_before_anybody_read_it_is_told_by_its_hash(rig: Rig) -> None:
    old = old_text(rig)
    (path,) = Path(rig.home, "dags").glob("*.py")
    known, new = (hashlib.sha256(text.encode()).hexdigest() for text in (old, path.read_text()))
    finish = rig.run("tell", file_hash=known)
    assert '"new"' in finish["xcoms"][0]["value"]
    assert finish["code_hash"] == new
    assert "code_hash" not in rig.run("tell", file_hash=new)
