"""What the pages take in a browser, for ``bench web --part ui``: the table of issue 7, each row by a function.

Each part opens pages as people do, in fresh profiles that are logged in, and reads the page's own clock. Called by
``web``; what scrolls, what is live and what leaks are in modules of their own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from bench import web_pages_data as data
from bench import web_ui_live, web_ui_scroll
from bench.browser import Opened, Wire, chromium, go, session, tab
from bench.report import progress, quantile
from bench.web_served import Served

_SETTLED: Final = "main:not(:has([aria-busy=true]))"
_CELL: Final = "[data-run] a[data-task]"
_NODE: Final = ".react-flow__node"
_LINES: Final = "section[aria-label='Lines of the log']"


@dataclass(frozen=True, slots=True)
class Bench:
    """What every part works with."""

    browser: Browser
    served: Served
    rounds: int
    changes: int
    events: int


def measure(served: Served, folder: Path, chosen: argparse.Namespace) -> dict[str, float]:
    """Load what the pages need besides, and measure the parts that were chosen, or all."""
    data.load(served.database, folder, datetime.now(UTC))
    figures: dict[str, float] = {}
    with chromium() as browser:
        bench = Bench(browser, served, chosen.rounds, chosen.changes, chosen.events)
        for name in chosen.only or PARTS:
            found = PARTS[name](bench)
            progress(f"{name:12} " + "  ".join(f"{key} {value:.4g}" for key, value in found.items()))
            figures |= found
    return figures


def _cold(bench: Bench) -> dict[str, float]:
    """Open the first page with nothing in the cache, each time in a fresh profile."""
    wanted = {"head": "main h1", "drawn": f"{_SETTLED} h1"}
    rounds: list[Opened] = []
    wire: Wire | None = None
    for _ in range(bench.rounds):
        with session(bench.browser, bench.served.port, bench.served.username) as context:
            page = tab(context, wanted)
            wire = Wire(page)
            rounds.append(go(page, "/", wanted))
    assert wire is not None
    return {
        **_times("home_cold_interactive", [one.interactive for one in rounds]),
        **_times("home_cold_drawn", [one.at["drawn"] for one in rounds]),
        "home_script_kb": wire.script_bytes / 1000,
        "home_transferred_kb": wire.all_bytes / 1000,
    }


def _grid(bench: Bench) -> dict[str, float]:
    return _times("dag_of_50000_runs_grid", _drawn(bench, f"/dags/{data.MINUTELY}", {"drawn": _CELL}))


def _graphs(bench: Bench) -> dict[str, float]:
    edges = {"drawn": _NODE, "edges": ".react-flow__edge path"}
    return {
        **_times("graph_of_1000", _drawn(bench, f"/dags/{data.THOUSAND}/graph", edges)),
        **_times("graph_of_12000_folded", _drawn(bench, f"/dags/{data.GROUPS}/graph", edges)),
    }


def _log(bench: Bench) -> dict[str, float]:
    """Open a log of a million lines, which stands at its end, and search it for what is in its middle."""
    address = f"/dags/{data.TALKER}/runs/run_1/tasks/task_0"
    last = {"drawn": f"{_LINES} [data-line='{data.LOG_LINES - 1}'] time"}
    searches: list[float] = []

    def search(page: Page) -> None:
        searches.append(float(page.evaluate(_SEARCH, data.RARE_WORDS)))

    return {
        **_times("log_of_1000000_end", _drawn(bench, address, last, search)),
        **_times("log_of_1000000_search", searches),
    }


# From the words in the field to the count of what was found in the whole log.
_SEARCH: Final = """(words) => new Promise((resolve) => {
    const field = document.querySelector("search input");
    const began = performance.now();
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, words);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    const watch = new MutationObserver(() => {
        if (!/^1 found$/.test(document.querySelector("search output")?.textContent ?? "")) return;
        watch.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
    });
    watch.observe(document.querySelector("main"), { childList: true, subtree: true, characterData: true });
})"""


def _drawn(
    bench: Bench, address: str, wanted: Mapping[str, str], then: Callable[[Page], object] = lambda _: None
) -> list[float]:
    """Return when all of it stood on the page, in each round; the scripts are in the cache, the data are not."""
    found: list[float] = []
    with session(bench.browser, bench.served.port, bench.served.username) as context:
        for number in range(bench.rounds + 1):
            page = tab(context, wanted)
            at = go(page, address, wanted).at
            then(page)
            page.close()
            if number:
                found.append(max(at.values()))
    return found


def _times(name: str, found: Sequence[float]) -> dict[str, float]:
    return {f"{name}_p50_ms": quantile(found, 0.5), f"{name}_worst_ms": max(found)}


PARTS: Final[Mapping[str, Callable[[Bench], dict[str, float]]]] = {
    "cold": _cold,
    "grid": _grid,
    "graphs": _graphs,
    "log": _log,
    "scroll": lambda bench: web_ui_scroll.measure(bench.browser, bench.served),
    "live": lambda bench: web_ui_live.measure_changes(bench.browser, bench.served, bench.changes),
    "leaks": lambda bench: web_ui_live.measure_leaks(bench.browser, bench.served, bench.events),
}
