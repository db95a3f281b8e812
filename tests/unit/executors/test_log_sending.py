"""Logs reach the remote store while they grow, whatever the store does meanwhile and whoever is killed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.support.moody_store import Moody, moody_store
from tests.support.waiting import wait_until

from treadle_executors import log_sending
from treadle_executors.log_sending import LogSending, NoSending, sending_of
from treadle_metadata.remote_logs.reading import StoredLog
from treadle_metadata.remote_logs.store import LogStore
from treadle_metadata.settings import Settings

MONTH = date(2026, 11, 1)
PATH = "daily/r1/load/attempt=1.jsonl"
KEY = "2026-11/daily/r1/load/attempt=1"


@pytest.fixture
def store() -> Iterator[LogStore]:
    with moody_store() as address:
        yield LogStore(address)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def sending(store: LogStore, folder: Path) -> LogSending:
    return LogSending(store, folder)


def write(folder: Path, data: bytes, path: str = PATH) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as opened:
        opened.write(data)
    return file


def text_of(store: LogStore) -> bytes:
    with StoredLog(store, KEY).open() as file:
        return file.read()


def test_a_log_is_in_the_store_while_its_task_runs_and_is_one_object_when_it_is_over(
    sending: LogSending, store: LogStore, folder: Path
) -> None:
    sending.follow("a", PATH, MONTH)
    file = write(folder, b"one\n")
    sending.flush()
    assert text_of(store) == b"one\n"
    assert file.exists()
    write(folder, b"two\n")
    sending.over(["a"])
    sending.flush()
    assert text_of(store) == b"one\ntwo\n"
    assert len(store.pieces(KEY)) == 1
    assert [one.name for one in folder.iterdir()] == [".to-send"]
    sending.end()
    assert [one.name for one in (folder / ".to-send").iterdir() if one.is_dir()] == []


def test_a_short_log_is_written_once_and_listed_once(
    sending: LogSending, store: LogStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    ls = Moody.ls

    def listing(self: Moody, path: str, **more: Any) -> Any:
        listed.append(path)
        return ls(self, path, **more)

    monkeypatch.setattr(Moody, "ls", listing)
    sending.follow("a", PATH, MONTH)
    write(folder, b"one\n")
    sending.over(["a"])
    sending.flush()
    assert (Moody.puts, len(listed), sending.left()) == (1, 1, 0)
    assert text_of(store) == b"one\n"


def test_an_attempt_that_says_nothing_costs_the_store_nothing(sending: LogSending) -> None:
    Moody.is_away = True
    sending.follow("a", PATH, MONTH)
    sending.over(["a"])
    sending.flush()
    assert sending.left() == 0


def test_small_writes_gather_for_some_seconds_before_the_next_object(
    sending: LogSending, store: LogStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_sending, "LOOK_SECONDS", 0.01)
    sending._pause = 0.01
    sending.follow("a", PATH, MONTH)
    write(folder, b"0\n")
    sending.start()
    wait_until(lambda: store.size(KEY) == 2)
    write(folder, b"1\n")
    write(folder, b"2\n")
    sending.end()
    assert text_of(store) == b"0\n1\n2\n"
    assert Moody.puts == 2


def test_a_store_that_is_away_is_told_once_and_gets_all_later(
    sending: LogSending, store: LogStore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Moody.is_away = True
    sending.follow("a", PATH, MONTH)
    write(folder, b"one\n")
    sending.over(["a"])
    with caplog.at_level(logging.INFO):
        sending.flush()
        sending.flush()
        assert [one.getMessage().partition(";")[0] for one in caplog.records] == [
            f"cannot read the remote logs at {store.name}: ConnectionError: 'no route to the store'"
        ]
        assert f"the logs stay in {folder} and are sent later" in caplog.text
        Moody.is_away = False
        sending.flush()
    assert caplog.records[-1].getMessage() == f"logs are sent to {store.name} again"
    assert text_of(store) == b"one\n"


def test_what_a_killed_process_has_left_is_sent_by_the_next_one(
    sending: LogSending, store: LogStore, folder: Path
) -> None:
    sending.follow("a", PATH, MONTH)
    write(folder, b"one\n")
    sending.flush()
    write(folder, b"the last words\n")
    sending._notes._held.close(keep=True)  # what the kernel does at a kill
    LogSending(store, folder).flush()
    assert text_of(store) == b"one\nthe last words\n"
    assert not (folder / PATH).exists()


def test_what_could_not_be_sent_before_the_end_is_sent_after_the_next_start(
    sending: LogSending, store: LogStore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Moody.is_away = True
    sending.follow("a", PATH, MONTH)
    write(folder, b"one\n")
    sending.end()
    assert "1 logs are not whole" in caplog.text
    Moody.is_away = False
    LogSending(store, folder).flush()
    assert text_of(store) == b"one\n"


def test_a_try_that_goes_on_on_another_machine_goes_on_in_the_same_log(
    sending: LogSending, store: LogStore, folder: Path, tmp_path: Path
) -> None:
    sending.follow("a", PATH, MONTH)
    write(folder, b"here\n")
    sending.over(["a"])
    sending.flush()
    other = LogSending(store, tmp_path / "other")
    other.follow("b", PATH, MONTH)
    write(tmp_path / "other", b"there\n")
    other.over(["b"])
    other.flush()
    assert text_of(store) == b"here\nthere\n"
    assert len(store.pieces(KEY)) == 1


def test_a_try_that_goes_on_on_the_same_machine_before_its_log_was_sent_loses_nothing(
    sending: LogSending, store: LogStore, folder: Path
) -> None:
    Moody.is_away = True
    sending.follow("a", PATH, MONTH)
    write(folder, b"first\n")
    sending.over(["a"])
    sending.flush()
    sending.follow("b", PATH, MONTH)
    file = write(folder, b"second\n")
    Moody.is_away = False
    sending.flush()
    assert file.exists()  # whoever writes it has it open
    sending.over(["b"])
    sending.flush()
    assert text_of(store) == b"first\nsecond\n"
    assert (file.exists(), sending.left()) == (False, 0)


def test_quiet_logs_that_nobody_calls_over_are_asked_about(
    store: LogStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, date]] = []

    def ended(wanted: Mapping[str, date]) -> set[str]:
        asked.append(dict(wanted))
        return {"a"}

    monkeypatch.setattr(log_sending, "_QUIET_SECONDS", -1.0)
    sending = LogSending(store, folder, ended)
    sending.follow("a", PATH, MONTH, is_whole=True)
    sending.follow("b", "daily/r1/store/attempt=1.jsonl", MONTH, is_whole=True)
    write(folder, b"one\n")
    sending._ask()
    sending.flush()
    assert asked == [{"a": MONTH, "b": MONTH}]
    assert sending.left() == 1
    assert text_of(store) == b"one\n"


def test_a_log_that_is_written_on_is_not_removed(folder: Path) -> None:
    file = write(folder, b"one\n")
    assert not log_sending.remove_if_sent(file, 3)
    assert file.exists()
    assert log_sending.remove_if_sent(file, 4)
    assert log_sending.remove_if_sent(file, 4)


def test_a_folder_of_notes_that_cannot_be_read_stops_nothing(store: LogStore, folder: Path) -> None:
    left = folder / ".to-send" / "logs-left"
    left.mkdir(parents=True)
    (left / "broken").write_text("{")
    LogSending(store, folder).flush()
    assert not left.exists()


def test_without_the_setting_nothing_is_sent(tmp_path: Path) -> None:
    assert type(sending_of(Settings(home=tmp_path))) is NoSending
    assert isinstance(sending_of(Settings(home=tmp_path, remote_logs=f"memory://{uuid4()}")), LogSending)
    shutil.rmtree(tmp_path)
