"""A tab that stays open for days keeps nothing of the pages that were left: no element, no listener (issue 7, part 3).

Each page that is walked over is noted by a weak reference, and what is left of these is counted after the browser has
collected its garbage. ``bench web --part ui --only leaks`` walks further, and lives through thousands of changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from playwright.sync_api import CDPSession, Page
from tests.support.installed import Installed

Opened = Callable[..., Page]

_ROUNDS: Final = 3

# React keeps what a page was before until it draws the next one of its kind, and the engine at times one more.
_MOST_OF_ONE_PAGE: Final = 2

_GO: Final = """address => { history.pushState({}, "", address); dispatchEvent(new PopStateEvent("popstate")); }"""
_NOTE: Final = """(heading) => {
    const page = heading.parentNode;
    window.left ??= [];
    if (window.left.at(-1)?.[1].deref() !== page) window.left.push([heading.textContent, new WeakRef(page)]);
}"""
_LEFT: Final = """() => window.left.filter(([, page]) => page.deref() !== undefined).map(([heading]) => heading)"""


def test_pages_that_were_left_are_forgotten_with_all_that_they_listened_to(
    opened: Opened, installed: Installed
) -> None:
    run_id = installed.run_of("greetings")
    installed.end_of("greetings", run_id)
    run = f"/dags/greetings/runs/{quote(run_id, safe='')}"
    pages = (
        *("/", "/dags", "/runs", "/assets", "/timeline"),
        *(f"/dags/greetings{part}" for part in ("", "/graph", "/tasks")),
        *(f"{run}{part}" for part in ("", "/gantt")),
    )
    page = opened("/dags")
    engine = page.context.new_cdp_session(page)
    _walk(page, pages)
    listeners = _listeners(engine)
    for _ in range(_ROUNDS):
        _walk(page, pages)

    assert _listeners(engine) == listeners
    left = _left(page, engine)
    assert all(count <= _MOST_OF_ONE_PAGE for count in left.values()), left

    # What is kept on purpose is seen.
    for _ in range(_MOST_OF_ONE_PAGE + 1):
        _walk(page, ("/dags", "/runs"))
        page.evaluate("(window.kept ??= []).push(window.left.at(-1)[1].deref())")
    assert _left(page, engine)["Runs"] > _MOST_OF_ONE_PAGE


def _walk(page: Page, addresses: tuple[str, ...]) -> None:
    """Walk as clicks on links do, without loading anything anew."""
    for address in addresses:
        page.evaluate(_GO, address)
        page.locator(f"a[aria-current=page][href='{address}']").first.wait_for()
        page.locator("main:not(:has([aria-busy=true])) h1").evaluate(_NOTE)


def _left(page: Page, engine: CDPSession) -> Counter[str]:
    """Return how many of the pages that were noted are left, by their heading."""
    for _ in range(3):
        engine.send("HeapProfiler.collectGarbage")
    return Counter(page.evaluate(_LEFT))


def _listeners(engine: CDPSession) -> Counter[str]:
    """Return how many listen to what, of all that outlives a page."""
    found: Counter[str] = Counter()
    for what in ("window", "document", "document.body"):
        thing = engine.send("Runtime.evaluate", {"expression": what})["result"]["objectId"]
        listening = engine.send("DOMDebugger.getEventListeners", {"objectId": thing})["listeners"]
        found.update(f"{what} {one['type']}" for one in listening)
    return found
