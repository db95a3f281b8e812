"""The documentation says what rights do not do (case F19)."""

from __future__ import annotations

from tests.support.code import ROOT


def test_the_page_of_rights_says_where_they_end() -> None:
    page = " ".join((ROOT / "docs/explanation/rights.md").read_text().split())
    assert "## Where the boundary ends" in page
    told = page.split("## Where the boundary ends")[1].split(" ## ")[0]
    for words in (
        "do not hold back *code*",
        "isolates no DAG from another",
        "share its variables",
        "Queues belong to nobody",
    ):
        assert words in told, words
    for word in ("folder", "pools", "secrets", "workers", "service account"):
        assert word in told, word
