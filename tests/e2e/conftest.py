"""One standalone for the tests of this folder: they put DAG files into it, and none may harm what another did."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.support.installed import BYSTANDER, Installed, installation


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """An installation with the DAG ``bystander``, which must always succeed."""
    with installation(tmp_path_factory.mktemp("installed") / "home", {"bystander.py": BYSTANDER}) as one:
        yield one


@pytest.fixture(scope="session")
def client(installed: Installed) -> Iterator[httpx.Client]:
    """A logged-in client of its REST API."""
    with installed.client() as one:
        yield one
