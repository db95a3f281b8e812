"""The names of a task's context, known at parse time so that ``@task`` functions can ask for them as parameters."""

from __future__ import annotations

from typing import Final

CONTEXT_KEYS: Final = frozenset(
    {
        "conn",
        "dag",
        "dag_run",
        "data_interval_end",
        "data_interval_start",
        "ds",
        "ds_nodash",
        "exception",
        "inlet_events",
        "inlets",
        "logical_date",
        "macros",
        "map_index_template",
        "outlet_events",
        "outlets",
        "params",
        "partition_date",
        "partition_key",
        "prev_data_interval_end_success",
        "prev_data_interval_start_success",
        "prev_end_date_success",
        "prev_start_date_success",
        "reason",
        "run_id",
        "task",
        "task_instance",
        "task_instance_key_str",
        "templates_dict",
        "test_mode",
        "ti",
        "transaction",
        "triggering_asset_events",
        "try_number",
        "ts",
        "ts_nodash",
        "ts_nodash_with_tz",
        "var",
    }
)
"""What an ``@task`` function gets at run time when it has a parameter of that name."""
