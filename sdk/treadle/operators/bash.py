"""A task that runs a Bash command.

The command has a process group of its own. ``on_kill`` ends the group; should the task's process die without a word
(SIGKILL, out of memory), a watcher inside the group sees its pipe close and ends the group too, so nothing is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Collection, Container, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Final

from treadle.errors import CommandError, InvalidArgumentError, SkipTask, TreadleError
from treadle.operators.base import BaseOperator
from treadle.templates import TemplateFile, literal

GRACE_SECONDS: Final = 5.0
"""Between SIGTERM and SIGKILL to the command's process group."""

_WATCHED = """
{ read -r -n 1 -u "$TREADLE_LIFELINE" || kill -KILL 0; } <&- >/dev/null 2>&1 &
lifeline=$TREADLE_LIFELINE; unset TREADLE_LIFELINE
eval "exec bash -c \\"\\$1\\" $lifeline<&-"
"""
"""The watcher reads from a pipe whose other end only the task's process holds: a byte means all is well, the pipe's
end means that process is gone. ``exec`` leaves the command's shell without knowledge of it, so ``wait`` waits not."""


class BashOperator(BaseOperator):
    """Runs ``bash_command``; the last line of its standard output is the task's XCom. Standard error goes to the log.

    The command is a Jinja template, whatever it ends in (case G7); ``TemplateFile("x.sh")`` reads one from a file.
    ``env`` replaces the environment, or adds to it with ``append_env``. Without ``cwd`` it runs in a folder of its
    own that is removed afterwards. An exit code in ``skip_on_exit_code`` (a number, several or None) skips the task.
    ``output_processor`` makes the XCom from the last line.
    """

    template_fields: Collection[str] = ("bash_command", "env", "cwd")

    def __init__(
        self,
        *,
        bash_command: str | TemplateFile | literal,
        env: Mapping[str, str] | None = None,
        append_env: bool = False,
        output_encoding: str = "utf-8",
        skip_on_exit_code: int | Container[int] | None = 99,
        cwd: str | None = None,
        output_processor: Callable[[str], Any] = str,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.bash_command: Any = bash_command
        self.env: Any = env
        self.append_env = append_env
        self.output_encoding = output_encoding
        self.skip_on_exit_code = _codes(skip_on_exit_code)
        self.cwd: Any = cwd
        self.output_processor = output_processor
        self._process: subprocess.Popen[bytes] | None = None

    def execute(self, context: Any) -> Any:  # noqa: ARG002 - the contract of operators
        """Run the command and return its last line, processed.

        Raises:
            SkipTask: it ended with a code that skips.
            CommandError: it ended with another code than 0.
        """
        exit_code, last = self.run_command(self.bash_command)
        if exit_code in self.skip_on_exit_code:
            raise SkipTask(f"the command ended with exit code {exit_code}, which skips the task")
        if exit_code != 0:
            raise CommandError(exit_code, last)
        return self.output_processor(last)

    def run_command(self, command: Any) -> tuple[int, str]:
        """Run ``command``; return its exit code and its last line of output."""
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            raise InvalidArgumentError(repr(self), "bash_command", command, "a command", site=self.site)
        with ExitStack() as stack:
            folder = self.cwd or stack.enter_context(tempfile.TemporaryDirectory(prefix="treadle-"))
            if not os.path.isdir(folder):
                raise TreadleError(f"{self!r}: cwd={str(folder)!r} is no folder on this machine")
            watched, lifeline = os.pipe()
            stack.callback(os.close, lifeline)
            with open(watched, "rb", buffering=0):
                self._process = self._start(command, str(folder), watched)
            last = self._read(self._process)
            exit_code = self._process.wait()
            with suppress(BrokenPipeError):
                os.write(lifeline, b".")
            return exit_code, last

    def _start(self, command: str, folder: str, watched: int) -> subprocess.Popen[bytes]:
        own = {str(name): str(value) for name, value in (self.env or {}).items()}
        environment = {**os.environ, **own} if self.append_env or self.env is None else own
        environment["TREADLE_LIFELINE"] = str(watched)
        return subprocess.Popen(
            ["bash", "-c", _WATCHED, "bash", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment,
            pass_fds=(watched,),
            process_group=0,
        )

    def _read(self, process: subprocess.Popen[bytes]) -> str:
        last = ""
        assert process.stdout is not None
        with process.stdout as stream:
            for raw in stream:
                last = raw.decode(self.output_encoding, errors="backslashreplace").rstrip("\r\n")
                self.log.info("%s", last)
        return last

    def on_kill(self) -> None:
        """End the command and all it started: SIGTERM to the group, SIGKILL to what is left after a grace."""
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=GRACE_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _codes(value: int | Container[int] | None) -> Container[int]:
    if value is None:
        return ()
    return (value,) if isinstance(value, int) else value
