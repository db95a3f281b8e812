"""Pictures of every page, light and dark, wide and narrow: ``make screenshots``, to be looked at.

Starts an installation with the example DAGs, lets them run, and walks the pages. What it writes is for people; nothing
compares it. Ends its installation whatever happens.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from bench.installation import PASSWORD
from playwright.sync_api import Browser, Page
from playwright.sync_api import Error as BrowserError
from tests.support.browsing import ROOT, build_pages, chromium, log_in
from tests.support.installed import Installed, installation
from tests.support.waiting import wait_until

from treadle_metadata import accounts

SIZES: Final = ((1440, 900), (800, 900))
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
_DAG: Final = "/dags/regional_report"
_RUN: Final = f"{_DAG}/runs/{{run}}"
_SETTLED_MILLISECONDS: Final = 600
_RUNS: Final = 4

PAGES: Final = (
    ("home", "/", ""),
    ("search", "/", "Search"),
    ("dags", "/dags", ""),
    ("trigger", "/dags", "Trigger greetings"),
    ("runs", "/runs", ""),
    ("dag-grid", _DAG, ""),
    ("dag-graph", f"{_DAG}/graph", ""),
    ("dag-calendar", f"{_DAG}/calendar", ""),
    ("dag-runs", f"{_DAG}/runs", ""),
    ("dag-tasks", f"{_DAG}/tasks", ""),
    ("dag-code", f"{_DAG}/code", ""),
    ("dag-details", f"{_DAG}/details", ""),
    ("dag-backfills", f"{_DAG}/backfills", ""),
    ("dag-audit", f"{_DAG}/audit", ""),
    ("backfill", "/dags/archive_data", "Backfill"),
    ("run", _RUN, ""),
    ("run-graph", f"{_RUN}/graph", ""),
    ("run-gantt", f"{_RUN}/gantt", ""),
    ("task", f"{_RUN}/tasks/{{task}}", ""),
    ("assets", "/assets", ""),
    ("timeline", "/timeline", ""),
    ("human-steps", "/human-steps", ""),
    ("account", "/account", ""),
    ("admin-pools", "/admin/pools", ""),
    ("admin-variables", "/admin/variables", ""),
    ("admin-connections", "/admin/connections", ""),
    ("connection", "/admin/connections", "Add a connection"),
    ("admin-problems", "/admin/problems", ""),
    ("admin-accounts", "/admin/accounts", ""),
    ("admin-roles", "/admin/roles", ""),
    ("role", "/admin/roles", "Add a role"),
    ("admin-teams", "/admin/teams", ""),
    ("admin-grants", "/admin/grants", ""),
    ("admin-sessions", "/admin/sessions", ""),
    ("admin-audit", "/admin/audit", ""),
    ("admin-settings", "/admin/settings", ""),
    ("admin-processes", "/admin/processes", ""),
)

_GREETINGS: Final = """
from treadle import DAG, Param, task

with DAG("greetings", description="Greets people as the form says", tags=["demo"], params={
    "name": Param("world", type="string", description="Whom to greet"),
    "times": Param(2, type="integer", title="How often"),
    "tone": Param("warm", enum=["warm", "cold"]),
    "shout": Param(False, type="boolean"),
    "day": Param(None, type=["string", "null"], format="date"),
    "people": Param(["ann", "ben"], type="array", items={"type": "string"}),
}):
    @task
    def greet(params):
        print(params)

    greet()
"""

_BROKEN: Final = "from treadle import DAG\n\nraise RuntimeError('broken on purpose')\n"


@contextmanager
def with_history() -> Iterator[Installed]:
    """Yield an installation in which something has happened."""
    with tempfile.TemporaryDirectory(prefix="treadle-screenshots-") as folder:
        home = Path(folder) / "home"
        shutil.copytree(ROOT / "dags", home / "dags", ignore=shutil.ignore_patterns("__pycache__"))
        files = {
            "greetings.py": _GREETINGS,
            "broken.py": _BROKEN,
        }
        with installation(home, files) as one:
            with one.database.begin() as connection:
                accounts.create_account(connection, "ann", PASSWORD, "Admin", now=datetime.now(UTC))
            for dag_id in ("regional_report", "greetings"):
                one.wait_for_dag(dag_id)
            runs = [one.run_of(dag_id) for dag_id in ("greetings", *["regional_report"] * _RUNS)]
            with suppress(TimeoutError):
                wait_until(lambda: one.state("regional_report", runs[-1]) in ("success", "failed"), 40)
            yield one


def newest(one: Installed) -> tuple[str, str]:
    """Return the newest run of the example that the pictures are of, and a task of it, as they stand in addresses."""
    run = "SELECT run_id FROM dag_run WHERE dag_id = 'regional_report' ORDER BY id DESC LIMIT 1"
    task = "SELECT task_id FROM task_instance WHERE dag_id = 'regional_report' ORDER BY id LIMIT 1"
    return quote(str(one.select(run)[0]["run_id"]), safe=""), quote(str(one.select(task)[0]["task_id"]), safe="")


def _walk(browser: Browser, one: Installed, folder: Path, only: str) -> None:
    run, task = newest(one)
    for width, height in SIZES:
        for scheme in SCHEMES:
            context = browser.new_context(
                base_url=f"http://127.0.0.1:{one.port}",
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            page = context.new_page()
            page.goto("/")
            page.get_by_role("button", name="Log in", exact=True).wait_for()
            page.screenshot(path=folder / f"login-{width}-{scheme}.png")
            log_in(page, "ann")
            page.get_by_role("navigation", name="Pages").wait_for()
            for name, address, button in PAGES:
                if re.search(only, name):
                    _take(page, address.format(run=run, task=task), button, folder / f"{name}-{width}-{scheme}.png")
            context.close()


def _take(page: Page, address: str, button: str, file: Path) -> None:
    page.goto(address)
    try:
        page.locator("main h1").wait_for(timeout=10_000)
        if button:
            page.get_by_role("button", name=re.compile(f"^{button}")).first.click(timeout=5_000)
    except BrowserError as error:
        print(f"{address}: {str(error).splitlines()[0]}")
    page.wait_for_timeout(_SETTLED_MILLISECONDS)
    page.screenshot(path=file)


def main() -> None:
    """Write the pictures into the folder of the first argument; the second is a pattern of the pages' names."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.gettempdir()) / "treadle-screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    build_pages()
    with with_history() as one, chromium() as browser:
        _walk(browser, one, folder, sys.argv[2] if len(sys.argv) > 2 else "")
    print(f"pictures of the pages are in {folder}")


if __name__ == "__main__":
    main()
