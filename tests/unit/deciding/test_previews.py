"""In which order previews of clears and marks list what would change."""

from __future__ import annotations

from typing import Any

from treadle_metadata.selecting import as_changes


def instance(run: int, task_id: str, map_index: int = -1) -> dict[str, Any]:
    named = {"dag_run_id": run, "task_id": task_id, "map_index": map_index}
    return {**named, "run_id": f"r{run}", "logical_date": None, "state": "success"}


def test_instances_of_a_mapped_task_stand_together_whatever_was_made_when() -> None:
    made = [instance(2, "load"), instance(1, "tr", 0), instance(1, "load"), instance(1, "tr", 2), instance(1, "tr", 1)]
    listed = as_changes([("clear", made), ("add", [instance(1, "send")])])
    assert [(one["run_id"], one["task_id"], one["map_index"], one["action"]) for one in listed] == [
        ("r1", "tr", 0, "clear"),
        ("r1", "tr", 1, "clear"),
        ("r1", "tr", 2, "clear"),
        ("r1", "load", -1, "clear"),
        ("r1", "send", -1, "add"),
        ("r2", "load", -1, "clear"),
    ]
