"""Windows and searches of long logs against reading all of them."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from treadle_metadata.queries import log_windows
from treadle_metadata.queries.log_windows import LineIndexes, read_window, search

ANY = frozenset[str]()


def _written(path: Path, texts: list[tuple[str, str]], tail: str = "") -> None:
    lines = [
        json.dumps({"time": "t", "level": level, "source": "task", "text": text}, separators=(",", ":"))
        for level, text in texts
    ]
    path.write_text("".join(line + "\n" for line in lines) + tail)


def test_a_log_opens_at_its_end_and_is_read_from_any_line(tmp_path: Path) -> None:
    path, indexes = tmp_path / "log", LineIndexes()
    _written(path, [("info", f"line {n}") for n in range(20_000)], '{"text":"torn')
    end = read_window(path, "log", indexes, None, 3)
    assert [line["text"] for line in end.lines] == ["line 19997", "line 19998", "line 19999"]
    assert (end.first, end.total) == (19_997, 20_000)
    for first in (0, 1, 4_321, 19_999):
        window = read_window(path, "log", indexes, first, 2)
        assert window.lines[0]["text"] == f"line {first}"


def test_a_log_that_grows_is_read_on_from_where_its_index_ends(tmp_path: Path) -> None:
    path, indexes = tmp_path / "log", LineIndexes()
    _written(path, [("info", "one")], '{"text":')
    assert read_window(path, "log", indexes, None, 9).total == 1
    with path.open("a") as file:
        file.write('"two"}\n{"text":"three"}\n')
    window = read_window(path, "log", indexes, 1, 9)
    assert ([line["text"] for line in window.lines], window.total) == (["two", "three"], 3)
    _written(path, [("info", "anew")])
    assert read_window(path, "log", indexes, None, 9).lines[0]["text"] == "anew"


def test_levels_are_counted_and_searched(tmp_path: Path) -> None:
    path, indexes = tmp_path / "log", LineIndexes()
    _written(path, [("error" if n % 1000 == 7 else "info", f"n {n}") for n in range(9_000)])
    assert read_window(path, "log", indexes, None, 1).counts == {"error": 9, "warning": 0}
    found = search(path, "log", indexes, "", levels=frozenset({"error"}), first=0, limit=3)
    assert [match.number for match in found.matches] == [7, 1007, 2007]
    assert found.next_line == 2008
    rest = search(path, "log", indexes, "", levels=frozenset({"error"}), first=2008, limit=100)
    assert [match.number for match in rest.matches] == [3007, 4007, 5007, 6007, 7007, 8007]
    assert rest.next_line is None


def test_a_name_of_a_field_is_not_found(tmp_path: Path) -> None:
    path, indexes = tmp_path / "log", LineIndexes()
    _written(path, [("info", "hello")])
    assert search(path, "log", indexes, "level", levels=ANY, first=0, limit=9).matches == []


def test_no_file_has_no_lines(tmp_path: Path) -> None:
    assert read_window(tmp_path / "none", "none", LineIndexes(), None, 5).total == 0
    assert search(tmp_path / "none", "none", LineIndexes(), "x", levels=ANY, first=0, limit=5).matches == []


def _searched(path: Path, words: str, level: frozenset[str], first: int, most: int) -> list[int]:
    """The numbers of all matches, found in parts that read about ``most`` bytes each."""
    indexes, numbers, at = LineIndexes(), [], first
    while True:
        found = search(path, "log", indexes, words, levels=level, first=at, limit=1000, most_bytes=most)
        numbers += [match.number for match in found.matches]
        if found.next_line is None:
            return numbers
        assert found.next_line > at
        at = found.next_line


TEXTS = st.lists(
    st.tuples(st.sampled_from(["info", "error"]), st.text(alphabet='abAB"\\ü\n ', max_size=6)), max_size=40
)


@settings(max_examples=60, deadline=None)
@given(
    texts=TEXTS,
    words=st.text(alphabet='abAB"\\ü', max_size=3),
    level=st.sampled_from([ANY, frozenset({"error"})]),
    first=st.integers(0, 45),
    stretch=st.integers(1, 300),
    most=st.integers(1, 600),
)
def test_a_search_finds_what_reading_everything_finds(
    tmp_path_factory: object,
    texts: list[tuple[str, str]],
    words: str,
    level: frozenset[str],
    first: int,
    stretch: int,
    most: int,
) -> None:
    path = Path(tmp_path_factory.mktemp("logs")) / "log"  # type: ignore[attr-defined]
    _written(path, texts)
    before, log_windows.STRETCH = log_windows.STRETCH, stretch  # type: ignore[misc]
    try:
        found = _searched(path, words, level, first, most)
        window = read_window(path, "log", LineIndexes(), first, 5)
    finally:
        log_windows.STRETCH = before  # type: ignore[misc]
    expected = [
        number
        for number, (one, text) in enumerate(texts)
        if number >= first
        and (not level or one in level)
        and (words.lower() in text.lower() or any(words.lower() in part for part in ("task",)))
    ]
    assert found == expected
    start = first if first <= len(texts) else max(0, len(texts) - 5)
    assert [line["text"] for line in window.lines] == [text for _, text in texts[start : start + 5]]
