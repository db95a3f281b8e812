"""What ``dags test`` and ``tasks test`` share: options, where the tasks' own output goes, how results are shown.

Standard output holds results only, so that ``-o json`` can be piped; whatever tasks print or log goes to standard
error.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, Final

import click

from treadle import xcom
from treadle.runtime.dag_test_result import TaskResult

_LONGEST_CELL: Final = 200


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where variables and connections come from."""
    for name, what in (("--variable-file", "variables"), ("--conn-file", "connections")):
        words = f"File of {what} (JSON, YAML or .env), used before those of the environment."
        command = click.option(name, type=click.Path(exists=True, dir_okay=False), help=words)(command)
    return command


@contextmanager
def output_of_tasks() -> Iterator[None]:
    """Send what tasks print and log to standard error while the block lasts."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def result_rows(results: Sequence[TaskResult]) -> list[dict[str, Any]]:
    """Return what is shown of each task instance; XComs are plain JSON."""
    return [
        {
            "task_id": one.task_id,
            "map_index": one.map_index,
            "state": one.state,
            "tries": one.tries,
            "seconds": round(one.seconds, 3),
            "message": one.message,
            "xcoms": {key: xcom.to_plain(text) for key, text in one.xcom_texts.items()},
        }
        for one in results
    ]


def cells(row: dict[str, Any]) -> dict[str, Any]:
    """Return ``row`` for a table or plain text: what the task returned and what else it pushed, each kept short."""
    xcoms = dict(row["xcoms"])
    result = _short(xcoms.pop(xcom.RETURN_KEY)) if xcom.RETURN_KEY in xcoms else None
    others = ", ".join(f"{key}={_short(value)}" for key, value in xcoms.items())
    return row | {"result": result, "other_xcoms": others}


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}... ({len(text)} characters)"
