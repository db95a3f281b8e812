"""The benchmarks' command line: ``python -m bench`` lists them, ``python -m bench NAME [--option value]`` runs one.

Progress goes to stderr; the last line on stdout is one JSON object (``bench.report``).
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench

NOT_BENCHMARKS = {
    "__main__",
    "brokered",
    "browser",
    "chaos_dags",
    "checker",
    "cluster",
    "documents",
    "hosts",
    "installation",
    "instant",
    "loading",
    "monkey",
    "paced",
    "people",
    "processes",
    "promises",
    "recorded",
    "records",
    "report",
    "stepping",
    "targets",
    "timed",
    "web_client",
    "web_data",
    "web_pages_data",
    "web_served",
    "web_ui",
    "web_ui_live",
    "web_ui_scroll",
}


def names() -> list[str]:
    """Return the names of the benchmarks: the modules of this package that have a ``main``."""
    return sorted(one.name for one in pkgutil.iter_modules(bench.__path__) if one.name not in NOT_BENCHMARKS)


def main(arguments: list[str]) -> int:
    """Run the benchmark named first, or list all."""
    if not arguments or arguments[0] in ("-h", "--help"):
        for name in names():
            summary = (importlib.import_module(f"bench.{name}").__doc__ or "").strip().splitlines()[0]
            print(f"{name:12} {summary}")
        return 0
    name, *options = arguments
    if name not in names():
        print(f"there is no benchmark {name!r}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    importlib.import_module(f"bench.{name}").main(options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
