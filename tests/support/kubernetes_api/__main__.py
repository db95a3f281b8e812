"""The test cluster as a process of its own, for benchmarks: ``python -m tests.support.kubernetes_api KUBECONFIG``.

It only says that pods run, writes a kubeconfig that leads to it, and ends when its standard input does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.kubernetes_api.server import kubernetes_api

if __name__ == "__main__":
    with kubernetes_api(pretends=True) as api:
        path = Path(sys.argv[1])
        api.write_kubeconfig(path.with_suffix(".new"))
        path.with_suffix(".new").rename(path)
        sys.stdin.read()
