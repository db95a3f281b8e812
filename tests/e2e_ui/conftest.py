"""One installation for all tests of the pages, a browser for each module, and a fresh profile for each test.

A browser lives no longer than its module: while Playwright runs, its thread holds an event loop that others need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from bench.installation import PASSWORD
from playwright.sync_api import Browser, Page
from tests.support.browsing import build_pages, chromium, log_in
from tests.support.installed import Installed, installation

from treadle_metadata import accounts

DAGS = {
    "greetings.py": """
from treadle import DAG, Param, task

with DAG("greetings", description="Greets people", tags=["demo"], params={
    "name": Param("world", type="string", minLength=1, description="Whom to greet"),
    "times": Param(2, type="integer", minimum=1, maximum=10, title="How often"),
    "tone": Param("warm", enum=["warm", "cold"]),
    "shout": Param(False, type="boolean"),
    "people": Param(["ann"], type="array", items={"type": "string"}),
    "places": Param(["north"], type="array", items={"type": "string", "enum": ["north", "south"]}),
    "extra": Param({}, type="object"),
}):
    @task
    def greet(params):
        # Ada is who the form's test fills in; whoever triggers it otherwise takes the defaults.
        given = {"times": 3, "tone": "cold", "shout": True, "people": ["ann", "ben"]}
        assert params["name"] != "Ada" or params.items() >= given.items(), params

    @task
    def part():
        pass

    greet() >> part()
""",
    "night.py": """
from datetime import datetime

from treadle import DAG, task

for number in range(3):
    with DAG(f"night_{number}", tags=["night"], schedule="0 3 * * *", start_date=datetime(2026, 1, 1), catchup=False):

        @task
        def count():
            pass

        count()
""",
    "needy.py": """
from treadle import DAG, Param, task

with DAG("needy", tags=["demo"], params={"must": Param(type="string")}):

    @task
    def say(params):
        print(params["must"])

    say()
""",
    "broken.py": "from treadle import DAG\n\nraise RuntimeError('this file is broken on purpose')\n",
}
ROLES = {"ann": "Admin", "vera": "Viewer", "olga": "Op"}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """A standalone with the newest pages, accounts of three roles, and the DAGs above."""
    build_pages()
    with installation(tmp_path_factory.mktemp("pages") / "home", DAGS) as one:
        with one.database.begin() as connection:
            for username, role in ROLES.items():
                accounts.create_account(connection, username, PASSWORD, role, now=datetime.now(UTC))
        for dag_id in ("greetings", "needy", "night_2"):
            one.wait_for_dag(dag_id, 20)
        yield one


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with chromium() as one:
        yield one


@pytest.fixture
def page(installed: Installed, browser: Browser) -> Iterator[Page]:
    """A tab of a fresh profile. An error that no code of ours caught fails the test."""
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{installed.port}", viewport={"width": 1280, "height": 900}, reduced_motion="reduce"
    )
    context.set_default_timeout(15_000)
    errors: list[str] = []
    one = context.new_page()
    one.on("pageerror", lambda error: errors.append(str(error)))
    yield one
    context.close()
    assert errors == []


@pytest.fixture
def opened(page: Page) -> Callable[[str, str], Page]:
    """Return a function that opens an address as somebody with an account."""

    def opened(address: str, username: str = "ann") -> Page:
        page.goto(address)
        log_in(page, username)
        page.get_by_role("navigation", name="Pages").wait_for()
        return page

    return opened
