"""The operator behind ``@task``: a function's call in the DAG file, kept until the task runs."""

from __future__ import annotations

from treadle.operators.python import PythonOperator


class PythonDecoratedOperator(PythonOperator):
    """``@task``: the arguments of the call are ``op_args`` and ``op_kwargs``; the function's result is the XCom."""

    custom_operator_name = "@task"
