"""Long logs: windows by line, searches, downloads, and following one until its attempt has ended."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from tests.support.served import served
from tests.support.web import Client, add_try

from treadle_metadata.clock import ManualClock
from treadle_metadata.connection import Database
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute

V2 = "/api/v2/dags/weather/dagRuns/first/taskInstances/fetch/logs/1"
PAGE = "/ui/dags/weather/runs/first/tasks/fetch/logs/1"


def _line(text: str, level: str = "info") -> str:
    content = {"time": "2026-01-15T12:00:00Z", "level": level, "source": "task", "text": text}
    return json.dumps(content, separators=(",", ":")) + "\n"


@pytest.fixture
def log(weather: str, database: Database, clock: ManualClock, settings: Settings) -> Path:
    """The log of a running attempt, of 1,000 lines; line 500 is an error."""
    with database.begin() as connection:
        add_try(connection, "weather", "first", "fetch", "fetch.jsonl", now=clock.now())
    path = settings.path("logs_folder") / "fetch.jsonl"
    path.parent.mkdir(parents=True)
    lines = [_line(f"line {n}", "error" if n == 500 else "info") for n in range(998)]
    path.write_text(_line("::group::Setting up") + _line("::endgroup::") + "".join(lines[:998]))
    return path


def test_a_window_is_the_end_of_a_log_or_any_part_of_it(admin: Client, log: Path) -> None:
    end = admin.json(f"{PAGE}?count=2")
    assert [(line["number"], line["text"]) for line in end["lines"]] == [(998, "line 996"), (999, "line 997")]
    assert (end["total"], end["counts"], end["is_over"]) == (1000, {"error": 1, "warning": 0}, False)
    start = admin.json(f"{PAGE}?first=0&count=3")
    assert [(line["group"], line["text"]) for line in start["lines"]] == [
        ("start", "Setting up"),
        ("end", ""),
        (None, "line 0"),
    ]


def test_a_search_gives_line_numbers_and_reads_on(admin: Client, log: Path) -> None:
    found = admin.json(f"{V2}/search?query=LINE 99&limit=2")
    assert [match["number"] for match in found["matches"]] == [101, 992]
    rest = admin.json(f"{V2}/search", params={"query": "line 99", "first": found["next_line"]})
    assert [match["line"]["event"] for match in rest["matches"]] == [f"line {n}" for n in range(991, 998)]
    errors = admin.json(f"{V2}/search?level=error")
    assert [match["number"] for match in errors["matches"]] == [502]
    assert errors["next_line"] is None


def test_a_log_is_downloaded_as_text_or_json_lines(admin: Client, log: Path) -> None:
    text = admin.get(f"{V2}/download")
    assert text.headers["content-disposition"] == 'attachment; filename="weather_first_fetch_1.log"'
    assert text.text.splitlines()[-1] == "2026-01-15T12:00:00Z info task line 997"
    lines = admin.get(f"{V2}/download?format=ndjson").text.splitlines()
    assert json.loads(lines[-1])["event"] == "line 997"


def test_an_attempt_without_lines_says_why(admin: Client, log: Path) -> None:
    log.unlink()
    assert admin.json(PAGE)["message"] == "try 1 has written no log yet"
    assert admin.get(PAGE.replace("/1", "/7")).status_code == 404


def test_a_log_is_followed_until_its_attempt_has_ended(
    app: FastAPI, admin: Client, log: Path, database: Database, clock: ManualClock
) -> None:
    def end() -> None:
        with log.open("a") as file:
            file.write(_line("the last line"))
        with database.begin() as connection:
            now = {"now": clock.now()}
            execute(connection, "UPDATE task_attempt SET ended_at = %(now)s, outcome = 'success'", now)
            ended = "UPDATE task_instance SET state = 'success', ended_at = %(now)s WHERE state = 'running'"
            execute(connection, ended, now)

    with served(app) as url:
        headers = {"Authorization": f"Bearer {admin.token}"}
        with httpx.stream("GET", f"{url}{V2}/follow?first=999", headers=headers, timeout=10) as answer:
            events = _events(answer.iter_lines())
            name, data = next(events)
            assert (name, data["first"], [line["event"] for line in data["lines"]]) == ("lines", 999, ["line 997"])
            ending = threading.Thread(target=end)
            ending.start()
            name, data = next(events)
            assert (name, [line["event"] for line in data["lines"]]) == ("lines", ["the last line"])
            assert next(events) == ("end", {"lines": 1001})
            ending.join()
            assert list(events) == []


def _events(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        if line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
