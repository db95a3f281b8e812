"""Reading log files: whole lines only, from any offset or from the end, whatever the bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.queries import logs
from treadle_metadata.remote_logs.places import inside

TEXTS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=20), max_size=30)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that each example writes anew."""
    return tmp_path_factory.mktemp("logs") / "attempt=1.jsonl"


def written(file: Path, texts: list[str], torn: bool) -> list[str]:
    """Write a log and return the texts that it shows."""
    content = "\n".join(json.dumps({"text": text}) for text in texts)
    file.write_text(content + ("" if torn or not texts else "\n"))
    return texts


@settings(max_examples=60)
@given(texts=TEXTS, torn=st.booleans(), size=st.integers(1, 200))
def test_chunks_of_any_size_give_every_line_once(file: Path, texts: list[str], torn: bool, size: int) -> None:
    expected = written(file, texts, torn)
    seen: list[str] = []
    offset, at_end = 0, False
    while not at_end:
        chunk = logs.read_chunk(file, offset, size)
        seen += [line["text"] for line in chunk.lines]
        assert chunk.next_offset > offset or chunk.at_end
        offset, at_end = chunk.next_offset, chunk.at_end
    assert seen == expected


@settings(max_examples=60)
@given(texts=TEXTS, torn=st.booleans(), count=st.integers(0, 40))
def test_the_tail_is_the_end_of_all_lines(file: Path, texts: list[str], torn: bool, count: int) -> None:
    expected = written(file, texts, torn)
    assert [line["text"] for line in logs.read_tail(file, count).lines] == (expected[-count:] if count else [])


def test_the_tail_of_a_long_log_is_read_without_its_beginning(file: Path) -> None:
    texts = [f"{number} {'x' * 50}" for number in range(20_000)]
    written(file, texts, False)
    assert [line["text"] for line in logs.read_tail(file, 5000).lines] == texts[-5000:]


def test_an_offset_beyond_the_end_gives_nothing(file: Path) -> None:
    written(file, ["a"], False)
    assert logs.read_chunk(file, 10**9) == logs.Chunk([], file.stat().st_size, True)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b'{"text": "a"}', {"text": "a"}),
        (b'{"text": "a', {"text": '{"text": "a'}),
        (b"[1]", {"text": "[1]"}),
        (b"\xff\xfe", {"text": "\ufffd\ufffd"}),
        (b'{"text": "\\ud800x"}', {"text": "?x"}),
        (b'{"text": "\\ud83d\\ude00"}', {"text": "\N{GRINNING FACE}"}),
        (b"[" * 100_000, {"text": "[" * 100_000}),
    ],
)
def test_any_line_can_be_shown(line: bytes, shown: dict[str, str]) -> None:
    assert logs.parsed(line) == shown


@pytest.mark.parametrize("stored", ["../x", "a/../../x", "/etc/passwd"])
def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path: Path, stored: str) -> None:
    with pytest.raises(InvalidRequestError, match="leads out"):
        inside(tmp_path / "logs", stored)


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "link").symlink_to("/etc")
    with pytest.raises(InvalidRequestError, match="leads out"):
        inside(tmp_path / "logs", "link/passwd")
