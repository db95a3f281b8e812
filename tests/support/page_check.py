"""Looks at every page in every state that its address can hold: ``python -m tests.support.page_check [PATTERN]``.

Of each it is asked: does a reload show the same, do Back and Forward lead to it, does the choice of the zone change all
times that are shown, does the console stay silent, does axe find nothing, wide and narrow. Prints what it finds; tests
ask some of this of each page once, and this is for people who have changed many.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final

from bench.installation import PASSWORD
from playwright.sync_api import Browser, ConsoleMessage, Page
from playwright.sync_api import Error as BrowserError
from tests.support.browsing import barriers, build_pages, chromium, log_in
from tests.support.screenshots import PAGES, newest, with_history

# Its clocks differ from UTC by hours and 45 minutes: no time of a list is by chance that of another row.
ZONE: Final = "Asia/Kathmandu"

_DAG: Final = "/dags/regional_report"
_RUN: Final = f"{_DAG}/runs/{{run}}"
STATES: Final = (
    *("/dags?search=report", "/dags?tag=demo", "/dags?show=paused", "/dags?last_run=failed", "/dags?order=next_run"),
    *("/runs?state=failed", "/runs?search=manual", "/runs?dag=regional_report", "/human-steps?show=answered"),
    *(f"{_DAG}?{words}" for words in ("run={run}", "state=failed", "find=a", "until=2026-01-01T00:00:00Z")),
    *(f"{_DAG}/graph?{words}" for words in ("run={run}", "task={task}", "view=list")),
    *(f"{_DAG}/calendar?year=2025", f"{_DAG}/runs?day=2026-01-01", f"{_DAG}/audit?what=trigger"),
    *(f"{_DAG}/tasks?{words}" for words in ("task={task}", "runs=20", "order=p95_seconds")),
    *(f"{_RUN}/gantt?{words}" for words in ("from=0.2&to=0.6", "only=critical")),
    f"{_RUN}/events",
    *(f"{_RUN}/tasks/{{task}}?tab={tab}" for tab in ("attempts", "rendered", "xcoms", "steps", "assets", "details")),
    *("/timeline?hours=72", "/timeline?hours=6&at=2026-01-01T00:00Z", "/assets?show=waiting"),
    *("/admin/audit?event=login", "/nowhere"),
)

_BUSY: Final = "main [aria-busy=true]"
_GO: Final = """address => { history.pushState({}, "", address); dispatchEvent(new PopStateEvent("popstate")); }"""

# What is read or seen on a tool tip and has a time of day in it; ids of runs, intervals and what names UTC aside.
_TIMES: Final = r"""() => {
    const found = [];
    const isTime = (text) => /(^|[^\dT])\d{1,2}:\d\d(:\d\d)?($|[^\d])/.test(text);
    for (const element of document.querySelectorAll("main *, dialog *")) {
        if (element.closest("code, pre, textarea, option, [data-source]")) continue;
        const own = [...element.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data).join(" ");
        const told = [own, element.getAttribute("title") ?? "", element.getAttribute("aria-label") ?? ""];
        for (const text of told)
            if (isTime(text.replace(/\S+T\d\d:\S+|every \S+|[\d:]+ UTC$/g, ""))) found.push(text.trim());
    }
    return found;
}"""


def check(page: Page, address: str) -> Iterator[str]:
    """Yield what is wrong with a page in a state."""
    said: list[str] = []

    def hear(one: ConsoleMessage) -> None:
        if one.type in {"error", "warning"}:
            said.append(one.text)

    page.on("console", hear)
    page.goto(address)
    first, shown = _seen(page), page.url
    page.reload()
    yield from _differences("a reload", first, _seen(page))
    page.evaluate(_GO, "/account")
    page.get_by_text("Your account, with role").wait_for()
    page.go_back()
    yield from _differences("Back", first, _seen(page))
    if page.url != shown:
        yield f"the address became {page.url}"
    page.go_forward()
    page.get_by_text("Your account, with role").wait_for()
    page.go_back()
    yield from _differences("Forward and Back", first, _seen(page))
    yield from _stray_times(page)
    page.remove_listener("console", hear)
    yield from (f"console: {one}" for one in said)
    for width in (1440, 800):
        page.set_viewport_size({"width": width, "height": 900})
        yield from (f"axe at {width}: {one}" for one in barriers(page))
    page.set_viewport_size({"width": 1440, "height": 900})


def _seen(page: Page) -> list[str]:
    """Return the lines of the page, once nothing of it is on its way; how long ago something was is left out."""
    page.locator("main h1").first.wait_for()
    page.wait_for_function("selector => document.querySelector(selector) === null", arg=_BUSY)
    page.wait_for_load_state("networkidle")
    text = page.locator("main").inner_text()
    masked = re.sub(r"(in )?\d+(\.\d+)? (s|min|h|d)\b( \d+ (s|min|h))?( ago)?|\bnow\b", "~", text)
    return [line.strip() for line in masked.splitlines() if line.strip()]


def _differences(after: str, before: list[str], now: list[str]) -> Iterator[str]:
    gone, new = [one for one in before if one not in now], [one for one in now if one not in before]
    if gone or new:
        yield f"{after} shows something else: without {gone[:4]}, with {new[:4]}"


def _stray_times(page: Page) -> Iterator[str]:
    """Yield the times that stay as they are when another zone is chosen."""
    zones = page.get_by_label("Times in")
    zones.select_option("utc")
    utc: list[str] = page.evaluate(_TIMES)
    zones.select_option("local")
    local = set(page.evaluate(_TIMES))
    zones.select_option("utc")
    for text in sorted({one for one in utc if one in local}):
        yield f"not in the chosen zone: {text!r}"


def walk(browser: Browser, port: int, username: str, password: str, addresses: list[str]) -> int:
    """Print what is wrong with these pages; return how much."""
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{port}",
        viewport={"width": 1440, "height": 900},
        reduced_motion="reduce",
        timezone_id=ZONE,
    )
    page = context.new_page()
    page.goto("/")
    log_in(page, username, password)
    page.get_by_role("navigation", name="Pages").wait_for()
    count = 0
    for address in addresses:
        try:
            found = list(check(page, address))
        except BrowserError as error:
            found = [str(error).splitlines()[0]]
        count += len(found)
        for one in found:
            print(f"{address}: {one}", flush=True)
    context.close()
    return count


def main() -> int:
    """Check the pages whose address has the pattern of the first argument; return 1 if anything was found."""
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    build_pages()
    with with_history() as one, chromium() as browser:
        run, task = newest(one)
        addresses = dict.fromkeys([*(address for _, address, _ in PAGES), *STATES])
        chosen = [one.format(run=run, task=task) for one in addresses if re.search(only, one)]
        found = walk(browser, one.port, "ann", PASSWORD, chosen)
    print(f"{len(chosen)} states of pages; {found} things found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
