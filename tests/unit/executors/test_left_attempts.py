"""What a killed worker leaves: read from its folder, and given up only when nothing of it can be there."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

from treadle_executors import left_attempts
from treadle_executors.left_attempts import HeldAttempts, Left, Process, is_gone, processes, read_left
from treadle_worker.protocol import Workload

URL = "postgresql://somebody:secret@db.example/treadle"


def workload(number: int, **changes: Any) -> Workload:
    plain = {"attempt_id": str(UUID(int=number)), "task_instance_id": number, "month": "2026-11-01", **changes}
    return cast("Workload", plain)


def killed(parent: Path, act: Callable[[HeldAttempts], object], url: str = URL) -> None:
    """Leave a folder as a worker does that was killed: nobody holds it, and nobody has removed it."""
    one = HeldAttempts(url, parent)
    one.runs_below(4711)
    act(one)
    one.close(keep=True)


def left(parent: Path, url: str = URL) -> list[Left]:
    one = HeldAttempts(url, parent)
    one.close()
    return one.left


def place(number: int) -> tuple[UUID, int, date]:
    return UUID(int=number), number, date(2026, 11, 1)


def hold_some(one: HeldAttempts) -> None:
    one.add([workload(1), workload(2), workload(3, callback={})])
    one.began([str(UUID(int=number)) for number in (1, 2, 3)])
    one.over([str(UUID(int=1)), str(UUID(int=9))])
    one.runs_below(4712)
    one.add([workload(4)])


def test_the_next_worker_of_the_same_database_finds_what_was_held_once(tmp_path: Path) -> None:
    killed(tmp_path, hold_some)
    assert left(tmp_path, "postgresql://somebody:secret@db.example/other") == []
    assert left(tmp_path, "postgresql://another:word@db.example/treadle") == [
        Left(frozenset({4711, 4712}), (place(2), place(4)), frozenset({UUID(int=2)}))
    ]
    assert left(tmp_path) == []


@pytest.mark.parametrize("password", ["a#b", "a[b", "a?b"])
def test_a_password_may_hold_whatever_the_driver_takes(tmp_path: Path, password: str) -> None:
    killed(tmp_path, hold_some, f"postgresql+psycopg://somebody:{password}@db.example/treadle")
    assert len(left(tmp_path)) == 1


def test_what_a_living_worker_holds_is_its_own(tmp_path: Path) -> None:
    one = HeldAttempts(URL, tmp_path)
    one.runs_below(4711)
    one.add([workload(1)])
    assert left(tmp_path) == []
    assert read_left(one.folder) == Left(frozenset({4711}), (place(1),))
    one.close()
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_a_long_life_leaves_a_short_journal_of_all_that_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_attempts, "_LARGEST_JOURNAL", 500)

    def work(one: HeldAttempts) -> None:
        one.add([workload(1)])
        one.began([str(UUID(int=1))])
        for number in range(2, 100):
            one.add([workload(number)])
            one.over([str(UUID(int=number))])
        assert (one.folder / "attempts").stat().st_size < 700

    killed(tmp_path, work)
    assert [(one.attempts, one.began) for one in left(tmp_path)] == [((place(1),), frozenset({UUID(int=1)}))]


@pytest.mark.parametrize("spoilt", ["namespace", "attempts", "hosts"])
def test_what_cannot_be_read_or_is_of_another_container_is_left_to_leases(tmp_path: Path, spoilt: str) -> None:
    def spoil(one: HeldAttempts) -> None:
        one.add([workload(1)])
        (one.folder / spoilt).write_text("+ nonsense\n")

    killed(tmp_path, spoil)
    assert left(tmp_path) == []


HOST, ZYGOTE = b"python\0-m\0treadle_worker.host\x009", b"python\0-m\0treadle_worker.zygote\x009"


@pytest.mark.parametrize(
    ("seen", "gone"),
    [
        ([], True),
        ([Process(10, 1, b"vim\0treadle")], True),
        ([Process(7, 1, HOST)], False),  # its host still ends its children
        ([Process(7, 1, b"bash")], False),  # the number belongs to another now: not certain
        ([Process(8, 2, HOST), Process(9, 8, ZYGOTE), Process(10, 9, ZYGOTE), Process(11, 10, ZYGOTE)], True),
        ([Process(8, 2, HOST), Process(9, 8, ZYGOTE), Process(12, 1, ZYGOTE)], False),  # an orphan: whose?
        ([Process(13, 14, ZYGOTE), Process(14, 13, b"sh")], False),
    ],
)
def test_only_what_is_certain_counts_as_gone(seen: list[Process], gone: bool) -> None:
    assert is_gone(Left(frozenset({7}), ()), seen) is gone


def test_the_processes_of_this_machine_are_seen_with_their_parents_and_commands() -> None:
    (own,) = [one for one in processes() if one.pid == os.getpid()]
    assert own.parent == os.getppid()
    assert b"python" in own.command
