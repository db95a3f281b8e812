"""How smoothly the grid scrolls, for ``bench web --part ui``: 365 runs by 200 tasks, by the wheel, along both axes.

A browser without a window and without a graphics card paints on the processor, so the frames a second of the page are
told beside what each frame costs its main thread, and what painting costs the other threads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from playwright.sync_api import Browser, Page

from bench import web_pages_data as data
from bench.browser import Meter, go, session, tab
from bench.report import quantile
from bench.web_served import Served

_FRAME: Final = "section[aria-label='Runs by tasks']"
_SPEED: Final = 2_400
"""Pixels a second: a hand that looks for something."""
_AXES: Final[Mapping[str, tuple[int, int]]] = {
    "left": (6_000, 0),
    "right": (-6_000, 0),
    "down": (0, -3_600),
    "up": (0, 3_600),
}
_SHARES: Final = {"script": "ScriptDuration", "layout": "LayoutDuration", "style": "RecalcStyleDuration"}
_RASTER: Final = ("RasterTask", "ImageDecodeTask")

_BEGIN: Final = """() => {
    window.benchFrames = [];
    window.benchScrolls = true;
    const next = (at) => {
        window.benchFrames.push(at);
        if (window.benchScrolls) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
}"""
_END: Final = "() => { window.benchScrolls = false; return window.benchFrames; }"


def measure(browser: Browser, served: Served) -> dict[str, float]:
    """Scroll to the oldest run and back, down and up; once to have all runs, once measured, once traced."""
    figures: dict[str, float] = {}
    wanted = {"drawn": "[data-run] a[data-task]"}
    with session(browser, served.port, served.username) as context:
        page = tab(context, wanted)
        go(page, f"/dags/{data.YEAR}", wanted)
        meter = Meter(page)
        figures["grid_first_scroll_fps"] = _pass(page, meter, "left")["fps"]
        _fetch_all(page)
        for axis in _AXES:
            found = _pass(page, meter, axis)
            figures |= {f"grid_scroll_{axis}_{name}": value for name, value in found.items()}
        figures |= _traced(browser, page, meter)
    return figures


def _fetch_all(page: Page) -> None:
    """Go to the left end until no older run comes, then back to the newest."""
    width = -1
    while (now := int(page.evaluate(f'document.querySelector("{_FRAME}").scrollWidth'))) != width:
        width = now
        page.evaluate(f'document.querySelector("{_FRAME}").scrollLeft = -1e7')
        page.wait_for_timeout(700)
    page.evaluate(f'document.querySelector("{_FRAME}").scrollLeft = 0')
    page.wait_for_timeout(300)


def _pass(page: Page, meter: Meter, axis: str) -> dict[str, float]:
    box = page.locator(_FRAME).bounding_box()
    assert box is not None
    before = meter.read()
    page.evaluate(_BEGIN)
    meter.scroll(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, _AXES[axis], _SPEED)
    frames: list[float] = page.evaluate(_END)
    after = meter.read()
    gaps = [later - earlier for earlier, later in pairwise(frames)]
    count = max(1, len(gaps))
    return {
        "fps": 1000 * count / sum(gaps),
        "p95_frame_ms": quantile(gaps, 0.95),
        "main_ms": (after["TaskDuration"] - before["TaskDuration"]) * 1000 / count,
        **{f"{name}_ms": (after[metric] - before[metric]) * 1000 / count for name, metric in _SHARES.items()},
    }


def _traced(browser: Browser, page: Page, meter: Meter) -> dict[str, float]:
    """Scroll once more and read from Chromium's trace what other threads did: painting, by frame."""
    browser.start_tracing(
        page=page, categories=["cc", "viz", "disabled-by-default-devtools.timeline", "devtools.timeline"]
    )
    frames = 0.0
    for axis in ("left", "down"):
        found = _pass(page, meter, axis)
        frames += found["fps"] * max(abs(one) for one in _AXES[axis]) / _SPEED
    events: list[dict[str, Any]] = json.loads(browser.stop_tracing())["traceEvents"]
    raster = sum(float(one.get("dur", 0)) for one in events if one.get("name") in _RASTER)
    return {"grid_scroll_raster_ms": raster / 1000 / max(1.0, frames)}
