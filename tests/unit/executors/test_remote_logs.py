"""The remote store of logs: its layout, what counts as written, reading in ranges, gathering, taking away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.moody_store import Moody, moody_store, silent_store

from treadle_metadata.errors import InvalidRequestError, LogStoreError
from treadle_metadata.queries import logs
from treadle_metadata.remote_logs import reading
from treadle_metadata.remote_logs import store as stores
from treadle_metadata.remote_logs.pieces import Piece, covering, key_of, piece_of
from treadle_metadata.remote_logs.places import LogPlaces
from treadle_metadata.remote_logs.reading import StoredLog
from treadle_metadata.remote_logs.store import LogStore
from treadle_metadata.settings import SettingsError

MONTH = date(2026, 11, 1)
KEY = "2026-11/daily/r1/load/attempt=1"


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> LogStore:
    return LogStore(f"file://{tmp_path}/store" if request.param == "file" else f"memory://{uuid4()}/logs")


def text_of(store: LogStore, key: str = KEY) -> bytes:
    with StoredLog(store, key).open() as file:
        return file.read()


def test_a_log_lies_by_month_dag_run_task_and_try() -> None:
    assert key_of(MONTH, "daily/r1/load/3/attempt=2.jsonl") == "2026-11/daily/r1/load/3/attempt=2"


def test_what_was_put_in_pieces_is_read_as_one_file(store: LogStore) -> None:
    store.put(KEY, 0, b"one\n")
    store.put(KEY, 4, b"two\nthree\n")
    store.put(KEY, 2, b"e\ntwo\n")
    assert text_of(store) == b"one\ntwo\nthree\n"
    assert store.size(KEY) == 14
    chunk = logs.read_tail(StoredLog(store, KEY), 1)
    assert (chunk.lines, chunk.next_offset) == ([{"text": "three"}], 14)
    assert [one["text"] for one in logs.read_chunk(StoredLog(store, KEY), 4).lines] == ["two", "three"]
    assert [one["text"] for one in logs.iterate(StoredLog(store, KEY))] == ["one", "two", "three"]


def test_beyond_a_gap_nothing_counts_until_it_is_filled(store: LogStore) -> None:
    store.put(KEY, 0, b"one\n")
    store.put(KEY, 8, b"three\n")
    assert text_of(store) == b"one\n"
    store.put(KEY, 4, b"two\n")
    assert text_of(store) == b"one\ntwo\nthree\n"


def test_a_log_that_is_not_there_is_no_file(store: LogStore) -> None:
    assert store.size(KEY) == 0
    with pytest.raises(FileNotFoundError):
        StoredLog(store, KEY).open()


def test_an_object_that_was_cut_off_while_it_was_written_does_not_count(tmp_path: Path) -> None:
    store = LogStore(f"file://{tmp_path}")
    store.put(KEY, 0, b"one\n")
    (tmp_path / KEY / "0000000000000004-100").write_bytes(b"tw")
    (tmp_path / KEY / "stranger").write_bytes(b"x")
    assert text_of(store) == b"one\n"


def test_a_log_that_is_over_becomes_large_objects_and_stays_the_same(
    store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "SEGMENT", 10)
    for offset in range(0, 24, 3):
        store.put(KEY, offset, b"abcdefghijklmnopqrstuvwx"[offset : offset + 3])
    reader = StoredLog(store, KEY).open()
    store.gather(KEY, 24)
    assert [(one.offset, one.end) for one in store.pieces(KEY)] == [(0, 10), (10, 20), (20, 24)]
    assert text_of(store) == reader.read() == b"abcdefghijklmnopqrstuvwx"
    store.gather(KEY, 24)
    assert text_of(store) == b"abcdefghijklmnopqrstuvwx"


def test_the_logs_of_runs_and_of_dags_are_taken_away(store: LogStore) -> None:
    kept = "2026-11/daily/r10/load/attempt=1"
    for key in (KEY, kept, "2026-10/daily/r1/load/attempt=1", "2026-10/other/r1/load/attempt=1"):
        store.put(key, 0, b"x")
    store.delete_runs([(MONTH, "daily", "r1"), (MONTH, "daily", "never")])
    assert [store.size(KEY), store.size(kept)] == [0, 1]
    store.delete_dag("daily")
    assert [store.size(kept), store.size("2026-10/daily/r1/load/attempt=1")] == [0, 0]
    assert store.size("2026-10/other/r1/load/attempt=1") == 1


def test_a_path_that_leads_out_of_the_store_is_refused(store: LogStore) -> None:
    for key in ("2026-11/../../etc/passwd", "2026-11//x", "/etc"):
        with pytest.raises(InvalidRequestError, match="leads out of the store"):
            store.size(key)


def test_a_log_is_read_where_more_of_it_is(store: LogStore, tmp_path: Path) -> None:
    places = LogPlaces(tmp_path / "logs", store)
    path = tmp_path / "logs" / "daily/r1/load/attempt=1.jsonl"
    path.parent.mkdir(parents=True)
    stored = "daily/r1/load/attempt=1.jsonl"
    assert isinstance(places.find(stored, MONTH), StoredLog)
    path.write_bytes(b"one\n")
    assert places.find(stored, MONTH) == path
    store.put(KEY, 0, b"one\ntwo\n")
    found = places.find(stored, MONTH)
    assert isinstance(found, StoredLog)
    assert [one["text"] for one in logs.iterate(found)] == ["one", "two"]


def test_a_bucket_that_there_is_not_is_told_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """As S3 says it: to write, no object is missing but the bucket."""

    def pipe_file(_self: Moody, _path: str, _data: bytes) -> None:
        raise FileNotFoundError("The specified bucket does not exist")

    with moody_store() as address:
        monkeypatch.setattr(Moody, "pipe_file", pipe_file)
        with pytest.raises(LogStoreError, match=r"cannot write the remote logs at moody://.*bucket does not exist"):
            LogStore(address).put(KEY, 0, b"one")


def test_nobody_waits_long_for_a_store_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The libraries of Google's and Azure's stores try again for half a minute and for one and a half."""
    monkeypatch.setattr(stores, "PATIENCE_SECONDS", 0.05)
    with silent_store() as url:
        store = LogStore(url)
        with pytest.raises(LogStoreError, match=r"cannot read the remote logs at silent://.*no answer within 0\.05 s"):
            store.size(KEY)
        with pytest.raises(LogStoreError, match=r"no answer within 0\.05 s"):
            store.read([Piece(0, 5, "0-5")], 0, 5)


def test_a_long_read_is_asked_for_in_ranges_that_a_slow_line_has_in_time(
    store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_LARGEST_RANGE", 1000)
    monkeypatch.setattr(reading, "_READ_AHEAD", 10)
    text = bytes(range(256)) * 20
    store.put(KEY, 0, text)
    asked = []
    real = store.read

    def noting(pieces: Sequence[Piece], offset: int, size: int) -> bytes:
        asked.append(size)
        return real(pieces, offset, size)

    monkeypatch.setattr(store, "read", noting)
    assert StoredLog(store, KEY).slice(0, len(text)) == text
    assert (max(asked), len(asked) < 20) == (1000, True)


def test_a_store_that_does_not_answer_costs_only_what_is_not_here(tmp_path: Path) -> None:
    with moody_store() as address:
        places = LogPlaces(tmp_path / "logs", LogStore(address))
        path = tmp_path / "logs/daily/r1/load/attempt=1.jsonl"
        Moody.is_away = True
        with pytest.raises(LogStoreError, match="cannot read the remote logs at moody://"):
            places.find("daily/r1/load/attempt=1.jsonl", MONTH).open("rb")
        path.parent.mkdir(parents=True)
        path.write_bytes(b"one\n")
        assert places.find("daily/r1/load/attempt=1.jsonl", MONTH) == path


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("bucket/logs", "expected an address such as s3://bucket/logs"),
        ("s4://bucket", "remote_logs \\('s4://bucket'\\) cannot be used: Protocol not known: s4"),
        ("s3://bucket/logs?key=k&secret=hush", "install treadle\\[remote-logs\\] and the package of the protocol"),
    ],
)
def test_an_address_that_cannot_be_used_is_told_without_its_secrets(url: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        LogStore(url)
    assert "hush" not in str(caught.value)


INTERVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=12)


@given(INTERVALS)
def test_the_pieces_chosen_cover_just_what_all_cover_from_the_first_byte_on(
    intervals: Sequence[tuple[int, int]],
) -> None:
    pieces = [Piece(offset, offset + length, "") for offset, length in intervals]
    covered = {byte for one in pieces for byte in range(one.offset, one.end)}
    size = next(byte for byte in range(100) if byte not in covered)
    chosen = covering(pieces)
    assert (chosen[-1].end if chosen else 0) == size
    assert {byte for one in chosen for byte in range(one.offset, one.end)} == set(range(size))
    assert all(before.end < after.end for before, after in pairwise(chosen))


def test_only_whole_objects_with_our_names_are_pieces() -> None:
    assert piece_of({"name": "a/0000000000000003-4", "size": 4}) == Piece(3, 7, "a/0000000000000003-4")
    for name, size in (("a/0000000000000003-4", 3), ("a/3-4", 4), ("a/000000000000000x-4", 4), ("a/readme", 4)):
        assert piece_of({"name": name, "size": size}) is None
