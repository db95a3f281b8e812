"""``.treadleignore`` reads like ``.gitignore``."""

from __future__ import annotations

import pytest

from treadle_scheduler.parsing.ignoring import is_ignored, patterns_of


@pytest.mark.parametrize(
    ("lines", "path", "ignored"),
    [
        (["draft.py"], "draft.py", True),
        (["draft.py"], "team/draft.py", True),
        (["draft.py"], "my_draft.py", False),
        (["/draft.py"], "draft.py", True),
        (["/draft.py"], "team/draft.py", False),
        (["team/draft.py"], "team/draft.py", True),
        (["team/draft.py"], "other/team/draft.py", False),
        (["*_test.py"], "a/b/load_test.py", True),
        (["team/*.py"], "team/a.py", True),
        (["team/*.py"], "team/sub/a.py", False),
        (["team/**/a.py"], "team/a.py", True),
        (["team/**/a.py"], "team/x/y/a.py", True),
        (["**/old/*.py"], "x/old/a.py", True),
        (["old/**"], "old/x/a.py", True),
        (["old/**"], "older/a.py", False),
        (["?.py"], "a.py", True),
        (["?.py"], "ab.py", False),
        (["[ab].py"], "a.py", True),
        (["[!ab].py"], "a.py", False),
        (["[!ab].py"], "c.py", True),
        (["*.py", "!keep.py"], "keep.py", False),
        (["!keep.py", "*.py"], "keep.py", True),
        (["# a comment", "", "   "], "# a comment", False),
        (["\\#odd.py"], "#odd.py", True),
        (["a.py   "], "a.py", True),
        (["tools/"], "tools", False),
        (["a+b(c).py"], "a+b(c).py", True),
        (["[unclosed.py"], "[unclosed.py", True),
    ],
)
def test_a_file_is_ignored_as_git_would(lines: list[str], path: str, ignored: bool) -> None:
    assert is_ignored(path, patterns_of(lines), is_folder=False) is ignored


def test_a_trailing_slash_names_folders_only() -> None:
    patterns = patterns_of(["tools/"])
    assert is_ignored("tools", patterns, is_folder=True)
    assert is_ignored("team/tools", patterns, is_folder=True)


def test_patterns_of_a_subfolder_count_below_it_only() -> None:
    patterns = patterns_of(["/a.py"], "team")
    assert is_ignored("team/a.py", patterns, is_folder=False)
    assert not is_ignored("a.py", patterns, is_folder=False)
    assert not is_ignored("team2/a.py", patterns, is_folder=False)
