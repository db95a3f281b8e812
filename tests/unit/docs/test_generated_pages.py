"""The reference pages say what the code says, and nothing is left without a word of explanation."""

from __future__ import annotations

import pytest
from docs import generate
from docs.pages import meanings

from treadle.dag_arguments import DagArguments
from treadle.operators.arguments import OperatorArguments
from treadle.runtime.context import context_keys


@pytest.mark.parametrize("name", generate.names())
def test_the_page_is_what_the_code_says(name: str) -> None:
    assert generate.file_of(name).read_text() == generate.text_of(name), "run: python docs/generate.py"


def test_the_check_names_a_page_that_differs_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(generate.PAGES, "settings", lambda: "# Settings\n\nOther ones.\n")

    assert generate.main(["--check"]) == 1
    assert "docs/reference/settings.md is out of date" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (DagArguments.__annotations__, meanings.DAG_ARGUMENTS),
        (OperatorArguments.__annotations__, meanings.TASK_ARGUMENTS),
        (context_keys(), meanings.CONTEXT),
    ],
    ids=["arguments of DAGs", "arguments of tasks", "names of the context"],
)
def test_every_name_has_a_meaning_in_words(names: object, said: object) -> None:
    assert set(names) - set(said) == set(), "write what they mean in docs/pages/meanings.py"  # type: ignore[call-overload]
