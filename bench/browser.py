"""A real browser for the benchmarks of the pages: Debian's Chromium without a window, and what it can tell of itself.

Times are the page's own: from the moment at which it was asked for to the frame in which what is waited for stood on
the screen. Called by ``web_ui`` and its parts.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

from bench.installation import PASSWORD

VIEWPORT: Final = {"width": 1440, "height": 900}
_PATIENCE_MILLISECONDS: Final = 90_000

# A selector counts when the frame in which it first matched is done; benchLongAt: the last task of over 50 ms ended.
_STAMPS: Final = """(() => {
    const wanted = %s;
    const seen = (window.benchSeen = {});
    window.benchLongAt = 0;
    new PerformanceObserver((list) => {
        for (const one of list.getEntries()) window.benchLongAt = one.startTime + one.duration;
    }).observe({ type: "longtask", buffered: true });
    const asked = new Set();
    const look = () => {
        for (const [name, selector] of Object.entries(wanted)) {
            if (asked.has(name) || document.querySelector(selector) === null) continue;
            asked.add(name);
            requestAnimationFrame(() => setTimeout(() => (seen[name] = performance.now())));
        }
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true, attributes: true });
})()"""


class MissingBrowserError(RuntimeError):
    """There is no Chromium on this machine."""

    def __init__(self) -> None:
        super().__init__("no program 'chromium' on PATH; whatever opens the pages needs it: apt-get install chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser without a window; end it with the block. Tests of the pages use it, too.

    Raises:
        MissingBrowserError: there is none.
    """
    program = shutil.which("chromium")
    if program is None:
        raise MissingBrowserError
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def session(browser: Browser, port: int, username: str) -> Iterator[BrowserContext]:
    """Yield a fresh profile that is logged in, with nothing in its cache."""
    context = browser.new_context(base_url=f"http://127.0.0.1:{port}", viewport=VIEWPORT)  # type: ignore[arg-type]
    context.set_default_timeout(_PATIENCE_MILLISECONDS)
    try:
        answer = context.request.post("/auth/login", data={"username": username, "password": PASSWORD})
        if not answer.ok:
            raise RuntimeError(f"POST /auth/login: {answer.status} {answer.text()}")
        yield context
    finally:
        with suppress(BrowserError):
            context.close()


@dataclass(frozen=True, slots=True)
class Opened:
    """When each thing stood on the page, in milliseconds; ``interactive``: all of it, and nothing ran long any more."""

    at: Mapping[str, float]
    interactive: float


def tab(context: BrowserContext, wanted: Mapping[str, str]) -> Page:
    """Return a new tab that notes when each selector of ``wanted`` first matches."""
    page = context.new_page()
    page.add_init_script(_STAMPS % json.dumps(dict(wanted)))
    return page


def go(page: Page, address: str, wanted: Mapping[str, str]) -> Opened:
    """Go to an address in a ``tab`` and wait for every selector of ``wanted``."""
    page.goto(address, wait_until="commit")
    page.wait_for_function("count => Object.keys(window.benchSeen ?? {}).length === count", arg=len(wanted))
    # A long task tells of itself after it has ended.
    page.wait_for_timeout(300)
    at: dict[str, float] = page.evaluate("window.benchSeen")
    long_at = float(page.evaluate("window.benchLongAt"))
    return Opened(at, max([*at.values(), long_at]))


class Wire:
    """Counts what the scripts and all the rest of a page take on the wire, heads included."""

    def __init__(self, page: Page) -> None:
        self._kinds: dict[str, str] = {}
        self.script_bytes, self.all_bytes = 0.0, 0.0
        cdp = page.context.new_cdp_session(page)
        cdp.on("Network.responseReceived", self._note)
        cdp.on("Network.loadingFinished", self._count)
        cdp.send("Network.enable")
        cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})

    def _note(self, event: dict[str, Any]) -> None:
        self._kinds[event["requestId"]] = event["type"]

    def _count(self, event: dict[str, Any]) -> None:
        size = float(event["encodedDataLength"])
        self.all_bytes += size
        if self._kinds.get(event["requestId"]) == "Script":
            self.script_bytes += size


class Meter:
    """What the main thread of a page has spent so far, and what it holds."""

    def __init__(self, page: Page) -> None:
        self._cdp: CDPSession = page.context.new_cdp_session(page)
        self._cdp.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read(self) -> dict[str, float]:
        """Return Chromium's metrics by name; durations in seconds."""
        return {one["name"]: float(one["value"]) for one in self._cdp.send("Performance.getMetrics")["metrics"]}

    def read_after_collection(self) -> dict[str, float]:
        """Collect all garbage, then read."""
        for _ in range(3):
            self._cdp.send("HeapProfiler.collectGarbage")
        return self.read()

    def scroll(self, x: float, y: float, by: tuple[int, int], speed: int) -> None:
        """Turn the wheel over a point, as smoothly as a hand does; return when it has come to rest."""
        self._cdp.send(
            "Input.synthesizeScrollGesture",
            {
                "x": x,
                "y": y,
                "xDistance": by[0],
                "yDistance": by[1],
                "speed": speed,
                "gestureSourceType": "mouse",
                "preventFling": True,
            },
        )
