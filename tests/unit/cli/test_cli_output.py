"""The four forms of output."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
import yaml

from treadle_cli.output import Listing, counted, show, show_record

NOON = datetime(2026, 3, 1, 13, 0, tzinfo=timezone(timedelta(hours=1)))
ROW = {"name": "a\tb\nc\\", "when": NOON, "paused": True, "seconds": 1.5, "tags": ["x", "y"], "none": None, "more": 7}
COLUMNS = ("name", "when", "paused", "seconds", "tags", "none")
LISTING = Listing(COLUMNS, [ROW], "Nothing.")


def _shown(capsys: pytest.CaptureFixture[str], output: str | None, listing: Listing = LISTING) -> str:
    show(listing, output)
    return capsys.readouterr().out


def test_a_pipe_gets_plain_text_with_one_row_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _shown(capsys, None).splitlines()
    assert lines[0].split("\t") == list(COLUMNS)
    assert lines[1].split("\t") == ["a\\tb\\nc\\\\", "2026-03-01T12:00:00Z", "yes", "1.5", "x, y", ""]
    assert len(lines) == 2


def test_json_holds_all_fields_with_their_types(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = json.loads(_shown(capsys, "json"))
    assert row == ROW | {"when": "2026-03-01T12:00:00Z"}


def test_yaml_says_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert yaml.safe_load(_shown(capsys, "yaml")) == json.loads(_shown(capsys, "json"))


def test_nothing_is_an_empty_list_in_json_and_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    empty = Listing(("name",), [], "No things.")
    assert json.loads(_shown(capsys, "json", empty)) == []
    assert yaml.safe_load(_shown(capsys, "yaml", empty)) == []
    assert _shown(capsys, "plain", empty) == "name\n"


def test_a_table_says_in_words_that_there_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show(Listing(("name",), [], "No things."), "table")
    assert capsys.readouterr() == ("", "No things.\n")


def test_a_table_shows_short_instants_and_its_own_titles(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = _shown(capsys, "table", Listing(("when", "seconds"), [ROW], titles={"when": "date"}))
    assert "date" in text.splitlines()[0]
    assert "2026-03-01 12:00:00Z" in text


def test_a_table_folds_what_is_too_wide_and_cuts_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = _shown(capsys, "table", Listing(("name", "note"), [{"name": "n", "note": "w" * 100}]))
    assert text.count("w") == 100
    assert max(map(len, text.splitlines())) <= 40


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_a_record_is_one_object(capsys: pytest.CaptureFixture[str], output: str, read: object) -> None:
    show_record({"name": "x", "when": datetime(2026, 1, 1, tzinfo=UTC)}, output)
    assert callable(read)
    assert read(capsys.readouterr().out) == {"name": "x", "when": "2026-01-01T00:00:00Z"}


def test_a_record_in_plain_text_is_a_line_for_each_field(capsys: pytest.CaptureFixture[str]) -> None:
    show_record({"name": "x", "tags": ("a", "b")}, None)
    assert capsys.readouterr().out == "name\tx\ntags\ta, b\n"


def test_markup_of_the_table_writer_in_a_value_is_shown_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert "[red]x[/red]" in _shown(capsys, "table", Listing(("name",), [{"name": "[red]x[/red]"}]))


@pytest.mark.parametrize(("number", "words"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs")])
def test_counts_agree_with_their_noun(number: int, words: str) -> None:
    assert counted(number, "run") == words


def test_a_table_that_is_too_wide_leaves_out_what_is_optional_in_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = Listing(("name", "when", "by", "type"), [{"name": "n" * 20, "when": NOON, "by": "cli", "type": "manual"}])
    listing = replace(listing, optional=("by", "type", "when"))
    heads = {}
    for width in (60, 52, 45, 30):
        monkeypatch.setenv("COLUMNS", str(width))
        heads[width] = _shown(capsys, "table", listing).splitlines()[0].split()
    assert heads == {
        60: ["name", "when", "by", "type"],
        52: ["name", "when", "type"],
        45: ["name", "when"],
        30: ["name"],
    }


def test_a_table_never_breaks_an_instant(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert "2026-03-01 12:00:00Z" in _shown(
        capsys, "table", Listing(("name", "when"), [{"name": "n" * 50, "when": NOON}])
    )
