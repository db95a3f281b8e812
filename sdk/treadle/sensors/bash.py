"""A sensor that runs a Bash command."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from treadle.errors import CommandError
from treadle.operators.bash import BashOperator
from treadle.sensors.base import BaseSensor


class BashSensor(BaseSensor, BashOperator):
    """Waits until ``bash_command`` ends with exit code 0.

    With ``retry_exit_code`` only that code means "not yet", and every other one is a failure. ``env``, ``append_env``,
    ``cwd`` and ``output_encoding`` are those of ``BashOperator``; an ``on_kill`` ends the command and all it started.
    """

    template_fields: Collection[str] = ("bash_command", "env", "cwd")

    def __init__(self, *, retry_exit_code: int | None = None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.retry_exit_code = retry_exit_code

    def poke(self, context: Any) -> bool:  # noqa: ARG002 - the contract of sensors
        """Run the command.

        Raises:
            CommandError: it ended with another code than 0 and ``retry_exit_code``.
        """
        exit_code, last = self.run_command(self.bash_command)
        if exit_code not in (0, self.retry_exit_code) and self.retry_exit_code is not None:
            raise CommandError(exit_code, last)
        return exit_code == 0
