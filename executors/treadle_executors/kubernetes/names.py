"""Names, labels and annotations of pods. Pure.

A pod is found by its attempt alone: the name ends with the attempt's id, so that making it twice is refused by the
cluster, and its labels say which installation's it is. What people read (DAG, task, run) is in annotations, which may
hold any text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Final
from uuid import UUID

from treadle_metadata.identifiers import AttemptRef
from treadle_worker.protocol import Workload

PREFIX: Final = "treadle.dev/"
ATTEMPT: Final = f"{PREFIX}attempt"
INSTALLATION: Final = f"{PREFIX}installation"
DONE: Final = f"{PREFIX}done"
"""Label of a pod that is over and settled, and kept for people to look at; it is not watched any more."""

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
INSTANCE: Final = f"{PREFIX}task-instance"
MONTH: Final = f"{PREFIX}month"
SUBJECT: Final = f"{PREFIX}subject"

_MOST: Final = 63
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")


def pod_name(workload: Workload) -> str:
    """Return the name of the attempt's pod: a DNS label, unique by the attempt's id."""
    unique = UUID(workload["attempt_id"]).hex
    words = _NOT_IN_NAMES.sub("-", f"{workload['dag_id']}-{workload['task_id']}".lower()).strip("-")
    words = words[: _MOST - len(unique) - 1].strip("-")
    return f"{words or 'attempt'}-{unique}"


def labels_of(workload: Workload, installation: str) -> dict[str, str]:
    """Return the labels of the attempt's pod."""
    return {MANAGED_BY: "treadle", INSTALLATION: installation, ATTEMPT: workload["attempt_id"]}


def annotations_of(workload: Workload) -> dict[str, str]:
    """Return what people, and an executor that did not make the pod, want to know of it."""
    return {
        f"{PREFIX}dag-id": workload["dag_id"],
        f"{PREFIX}task-id": workload["task_id"],
        f"{PREFIX}run-id": workload["run"]["run_id"],
        f"{PREFIX}map-index": str(workload["map_index"]),
        f"{PREFIX}try-number": str(workload["try_number"]),
        f"{PREFIX}queue": workload["queue"],
        INSTANCE: str(workload["task_instance_id"]),
        MONTH: workload["month"],
        SUBJECT: "callback" if "callback" in workload else "task",
    }


def watched_selector(installation: str) -> str:
    """Return the selector of the pods that an executor of this installation watches."""
    return f"{MANAGED_BY}=treadle,{INSTALLATION}={installation},{ATTEMPT},!{DONE}"


def ref_of(metadata: Mapping[str, Any]) -> AttemptRef | None:
    """Return which attempt a pod is of; None if its labels and annotations do not say so in order."""
    try:
        annotations = metadata["annotations"]
        attempt_id = UUID(metadata["labels"][ATTEMPT])
        return AttemptRef(attempt_id, int(annotations[INSTANCE]), date.fromisoformat(annotations[MONTH]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
