"""Ids that are too long, hold NUL, leave a folder or are no letters, by every way in: a clear refusal (issue 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from tests.support.command_line import CommandLine
from tests.support.installed import Installed

NAMES = {
    "10 kB": "x" * 10_000,
    "NUL": "a\0b",
    "path": "../../escaped",
    "dots": "..",
    "emoji": "\N{FIRE}",
    "shell": "$(touch pwned)",
    "template": "{{ 7*7 }}",
    "newline": "a\nb",
}
SHORT = 2000
"""No answer may repeat 10 kB of what was sent, or show a traceback."""


@pytest.fixture
def line(installed: Installed) -> CommandLine:
    """Commands in the test's own process: NUL cannot be an argument of a program."""
    names = {name: value for name, value in installed.environment.items() if name.startswith("TREADLE_")}
    return CommandLine(names)


@pytest.fixture
def names(installed: Installed) -> Iterator[Mapping[str, str]]:
    """The hostile names: whatever they are sent to, no run and no file comes of it, and a good DAG still succeeds."""
    installed.wait_for_dag("bystander")
    before = _facts(installed)
    yield NAMES
    assert _facts(installed) == before
    installed.succeeds()


def _facts(installed: Installed) -> tuple[object, ...]:
    runs = installed.select("SELECT count(*) AS n FROM dag_run")[0]["n"]
    dags = [row["dag_id"] for row in installed.select("SELECT dag_id FROM dag ORDER BY dag_id")]
    folders = [installed.home, installed.home.parent, installed.home / "logs", Path.cwd()]
    return runs, dags, [sorted(path.name for path in folder.iterdir()) for folder in folders]


def _is_clear(text: str) -> bool:
    return 10 < len(text) < SHORT and "Traceback" not in text and "Internal Server Error" not in text


def test_a_run_id_by_rest_is_refused(client: httpx.Client, names: Mapping[str, str]) -> None:
    for kind, name in names.items():
        answer = client.post("/api/v2/dags/bystander/dagRuns", json={"dag_run_id": name})
        assert answer.status_code in (400, 422), (kind, answer.text[:SHORT])
        assert _is_clear(answer.text), (kind, answer.text[: 2 * SHORT])


def test_a_dag_id_by_rest_is_not_found(client: httpx.Client, names: Mapping[str, str]) -> None:
    for kind, name in names.items():
        quoted = quote(name, safe="")
        for path in ("/api/v2/dags/{}", "/api/v2/dags/{}/dagRuns", "/api/v2/dagSources/{}"):
            answer = client.get(path.format(quoted))
            assert 400 <= answer.status_code < 500, (kind, path, answer.text[:SHORT])
            assert len(answer.text) < SHORT, (kind, path)
        answer = client.post(f"/api/v2/dags/{quoted}/dagRuns", json={})
        assert 400 <= answer.status_code < 500, kind


def test_a_run_id_by_the_command_line_is_refused(line: CommandLine, names: Mapping[str, str]) -> None:
    for kind, name in names.items():
        said = line.fails("dags", "trigger", "bystander", "--run-id", name)
        assert "run id" in said, kind
        assert _is_clear(said), (kind, said[: 2 * SHORT])


def test_a_dag_id_by_the_command_line_is_refused(line: CommandLine, names: Mapping[str, str]) -> None:
    for kind, name in names.items():
        for command in (("dags", "trigger"), ("dags", "details"), ("dags", "pause"), ("tasks", "list")):
            said = line.fails(*command, name)
            assert _is_clear(said), (kind, command, said[: 2 * SHORT])


def test_names_of_resources_are_refused_or_stored_as_they_are(
    line: CommandLine, client: httpx.Client, names: Mapping[str, str]
) -> None:
    arguments = {"pools": ["1"], "variables": ["1"], "connections": ["--type", "http"]}
    for resource, further in arguments.items():
        for kind, name in names.items():
            result = line.run(resource, "set", name, *further)
            assert result.exit_code in (0, 1), (resource, kind, result.output[:SHORT])
            assert "Traceback" not in result.output
            answer = client.get(f"/api/v2/{resource}/{quote(name, safe='')}")
            is_stored = result.exit_code == 0
            assert (answer.status_code == 200) is is_stored, (resource, kind, answer.text[:SHORT])
            if is_stored:
                assert line.run(resource, "delete", name).exit_code == 0


def test_logs_and_downloads_cannot_leave_their_folder(client: httpx.Client, installed: Installed) -> None:
    run_id = installed.run_of("bystander")
    assert installed.end_of("bystander", run_id) == "success"
    for part in ("..%2f..%2fsecrets.toml", "%2e%2e", "make%00", "..%5c..%5csecrets.toml"):
        answer = client.get(f"/api/v2/dags/bystander/dagRuns/{quote(run_id)}/taskInstances/{part}/logs/1")
        assert 400 <= answer.status_code < 500, answer.text[:SHORT]
        assert "fernet" not in answer.text
