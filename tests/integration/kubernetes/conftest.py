"""A cluster with an Execution API in memory; tests start the executors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.kubernetes_homes import PodWorld, pod_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PodWorld]:
    """The cluster, the server and the home."""
    with pod_world(tmp_path) as one:
        yield one
