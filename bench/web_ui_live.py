"""How soon a change is seen, and what stays behind after thousands of them, for ``bench web --part ui``.

Changes are written to the database as daemons write them, and reach the page by its stream. Times are of one clock: of
the commit, and of the frame that shows the change.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from playwright.sync_api import Browser, Page

from bench import web_data
from bench import web_pages_data as data
from bench.browser import Meter, go, session, tab
from bench.report import progress, quantile
from bench.web_served import Served
from treadle_metadata.connection import Database
from treadle_metadata.statements import execute

_KINDS: Final[Mapping[str, str]] = {
    "heap_mb": "JSHeapUsedSize",
    "nodes": "Nodes",
    "listeners": "JSEventListeners",
    "documents": "Documents",
}
_WARM: Final = 100
_CACHED_MILLISECONDS: Final = 61_000
"""How long the pages keep answers that nobody looks at (``gcTime`` in src/api/queries.ts), and a little more."""

# Notes the moment of the frame in which the sign of a task's state has changed.
_WATCH: Final = """(selector) => {
    const words = () => document.querySelector(selector)?.getAttribute("aria-label") ?? "";
    let before = words();
    window.benchChanges = [];
    new MutationObserver(() => {
        const now = words();
        if (now === before || now === "") return;
        before = now;
        requestAnimationFrame(() =>
            setTimeout(() => window.benchChanges.push((performance.timeOrigin + performance.now()) / 1000)),
        );
    }).observe(document.querySelector("main"), { childList: true, subtree: true, attributes: true });
}"""


def measure_changes(browser: Browser, served: Served, changes: int) -> dict[str, float]:
    """Change a task's state again and again, and see when the grid and the graph of its run show it."""
    pages = {
        "grid": (f"/dags/{data.MINUTELY}", "[data-run='run_1'] [data-task='task_0']"),
        "graph": (f"/dags/{data.MINUTELY}/runs/run_1/graph", ".react-flow__node[data-id='task_0'] a"),
    }
    figures: dict[str, float] = {}
    for name, (address, selector) in pages.items():
        wanted = {"drawn": selector}
        with session(browser, served.port, served.username) as context:
            page = tab(context, wanted)
            go(page, address, wanted)
            page.evaluate(_WATCH, selector)
            delays = [_seen_after(page, served.database, number) for number in range(changes)]
        figures |= {f"change_to_{name}_{label}_ms": quantile(delays, at) * 1000 for label, at in _QUANTILES.items()}
    return figures


_QUANTILES: Final = {"p50": 0.5, "p95": 0.95}


def _seen_after(page: Page, database: Database, number: int) -> float:
    """Return the seconds from just before the commit to the frame that shows it."""
    at = _change(database, data.MINUTELY, "run_1")
    page.wait_for_function("count => window.benchChanges.length > count", arg=number)
    # Not in step with what the server does every so often.
    page.wait_for_timeout(200 + 37 * (number % 10))
    return float(page.evaluate("window.benchChanges.at(-1)")) - at


def _change(database: Database, dag_id: str, run_id: str) -> float:
    """Have the first task of a run run if it does not, or else succeed; return the moment just before the commit."""
    with database.begin() as connection:
        execute(
            connection,
            """
            UPDATE task_instance AS one SET state = CASE one.state WHEN 'running' THEN 'success' ELSE 'running' END
            FROM dag_run AS run
            WHERE run.dag_id = %(dag)s AND run.run_id = %(run_id)s AND one.dag_run_id = run.id
              AND one.month = run.month AND one.task_id = 'task_0'
            """,
            {"dag": dag_id, "run_id": run_id},
        )
        return time.time()


def measure_leaks(browser: Browser, served: Served, events: int) -> dict[str, float]:
    """Let a page live through ``events`` changes, and walk all pages time and again; tell what is left afterwards."""
    wanted = {"drawn": "[data-run='run_1'] [data-task='task_0']"}
    with session(browser, served.port, served.username) as context:
        page = tab(context, wanted)
        go(page, f"/dags/{data.MINUTELY}", wanted)
        meter = Meter(page)
        _live_through(page, served.database, _WARM)
        before = meter.read_after_collection()
        _live_through(page, served.database, events)
        after = meter.read_after_collection()
        figures = {f"live_{name}_more": _more(before, after, metric) for name, metric in _KINDS.items()}
        figures["live_heap_mb_at_end"] = after["JSHeapUsedSize"] / 1e6
        figures["live_events"] = float(events)
        figures |= _measure_walks(page, meter)
    return figures


def _measure_walks(page: Page, meter: Meter) -> dict[str, float]:
    """Tell what forty walks leave more than ten did, each time after the cache has dropped what nobody looks at."""
    _walk(page, 10)
    page.wait_for_timeout(_CACHED_MILLISECONDS)
    before = meter.read_after_collection()
    _walk(page, 40)
    page.wait_for_timeout(_CACHED_MILLISECONDS)
    after = meter.read_after_collection()
    return {f"walked_{name}_more": _more(before, after, metric) for name, metric in _KINDS.items()}


def _more(before: Mapping[str, float], after: Mapping[str, float], metric: str) -> float:
    more = after[metric] - before[metric]
    return more / 1e6 if metric == "JSHeapUsedSize" else more


def _live_through(page: Page, database: Database, events: int) -> None:
    for number in range(events):
        _change(database, data.MINUTELY, f"run_{1 + number % 20}")
        # The least time between two messages of the server's stream.
        page.wait_for_timeout(50)
    page.wait_for_timeout(1500)
    progress(f"{events} changes lived through")


def _walk(page: Page, rounds: int) -> None:
    """Walk the pages as clicks on links do, without loading anything anew."""
    addresses = (
        *(
            "/",
            "/dags",
            "/runs",
            "/assets",
            "/timeline",
            f"/dags/{data.MINUTELY}/graph",
            f"/dags/{data.MINUTELY}/tasks",
        ),
        *(f"/dags/{web_data.WIDE}/runs/run_1", f"/dags/{web_data.WIDE}/runs/run_1/gantt", f"/dags/{data.MINUTELY}"),
    )
    for _ in range(rounds):
        for address in addresses:
            page.evaluate(
                "address => { history.pushState({}, '', address); dispatchEvent(new PopStateEvent('popstate')); }",
                address,
            )
            page.wait_for_timeout(150)
            page.locator("main:not(:has([aria-busy=true])) h1").wait_for()
    page.wait_for_timeout(1500)
