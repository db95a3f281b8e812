"""The operator behind ``@task.bash``: a function that returns a command, and the command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.operators.bash import BashOperator
from treadle.operators.python import call_function
from treadle.templates import literal


class BashDecoratedOperator(BashOperator):
    """``@task.bash``: the function returns the command, which runs as it is."""

    template_fields = ("env", "cwd", "op_args", "op_kwargs")
    custom_operator_name = "@task.bash"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Sequence[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(bash_command=literal(""), **arguments)
        self.python_callable = python_callable
        self.op_args: Any = list(op_args or ())
        self.op_kwargs: Any = dict(op_kwargs or {})

    def execute(self, context: Any) -> Any:
        """Ask the function for the command and run it."""
        self.bash_command = call_function(self.python_callable, self.op_args, self.op_kwargs, context)
        return super().execute(context)
