"""A real browser at a real installation: Debian's Chromium, driven by Playwright, on the pages as they are built.

For tests of pages and for ``make screenshots``. A browser that is missing fails the test that wants it, in a sentence.
"""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import hatch_build
from bench import browser
from bench.installation import PASSWORD
from playwright.sync_api import Browser, Page, expect

ROOT: Final = Path(__file__).resolve().parents[2]
_AXE: Final = ROOT / "webserver/ui/node_modules/axe-core/axe.min.js"
_WITHIN_MILLISECONDS: Final = 15_000


class MissingAxeError(RuntimeError):
    """The packages for work on the pages are not installed."""

    def __init__(self) -> None:
        super().__init__(f"{_AXE.relative_to(ROOT)} is not there; `make ui` installs what tests of the pages need")


def build_pages() -> None:
    """Build the pages as ``pip install`` does; of several test processes one does it and the others wait."""
    with (Path(tempfile.gettempdir()) / "treadle-pages.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        hatch_build.build(ROOT)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser without a window; end it with the block.

    Raises:
        MissingBrowserError: there is none (``bench.browser``).
    """
    expect.set_options(timeout=_WITHIN_MILLISECONDS)
    with browser.chromium() as one:
        yield one


def log_in(page: Page, username: str, password: str = PASSWORD) -> None:
    """Fill the form in; the page that was asked for is shown afterwards."""
    page.get_by_label("Name").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in", exact=True).click()


def barriers(page: Page) -> Sequence[str]:
    """Return what axe finds on a page that keeps people out: each rule, and where it is broken; colours dark as well.

    Raises:
        MissingAxeError: axe is not installed.
    """
    if not _AXE.is_file():
        raise MissingAxeError
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.evaluate(_AXE.read_text())
    found: list[Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    page.emulate_media(color_scheme="dark")
    found += page.evaluate("axe.run(document, {runOnly: ['color-contrast']})")["violations"]
    page.emulate_media(color_scheme="light")
    return [
        f"{page.url}: {one['id']} ({one['help']}): {node['html'][:160]}" for one in found for node in one["nodes"][:3]
    ]
