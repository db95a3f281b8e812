"""The errors of the SDK, as a tree. Each takes facts and makes its own sentence.

TreadleError
├── DagError                    a DAG file defines something that cannot be; names file, line and thing
│   ├── InvalidIdError          an id of a DAG, task or group that cannot be used
│   ├── DuplicateIdError        two tasks, groups or DAGs of one name
│   ├── CycleError              tasks that wait for one another
│   ├── UnknownArgumentError    an argument that an operator or DAG does not have; also a TypeError
│   ├── MissingArgumentError    an argument that an operator needs; also a TypeError
│   └── InvalidArgumentError    an argument of the wrong type or value; also a ValueError
├── TaskNotFoundError           a task id that the DAG does not have; also a LookupError
├── ParamError                  a param's value does not fit its schema; also a ValueError
├── XComTypeError               a value that cannot be handed on; names the bad element's path; also a TypeError
├── XComTooLargeError           a value larger than the installation allows; also a ValueError
├── BranchError                 a branch chose what the DAG does not have; also a ValueError
├── ReservedKeyError            an XCom key that Treadle keeps for itself; also a ValueError
├── CommandError                a command of a BashOperator ended badly
├── NoSuchAssetError            an asset that a task has no inlet, outlet or event of; also a KeyError
├── NotInTaskError              something of a running task was asked for elsewhere; also a RuntimeError
├── VariableNotFoundError       a variable that is nowhere; also a LookupError
├── VariableValueError          a variable's text is not the JSON that was expected; also a ValueError
├── ConnectionNotFoundError     a connection that is nowhere; also a LookupError
├── ConnectionFormatError       a connection's URI, JSON or fields cannot be read; also a ValueError
├── TemplateFieldError          a template cannot be rendered
├── LibraryMissingError         a stored value needs a library that is not installed; also an ImportError
├── InvalidSchedule             the text or the numbers of a schedule make no timetable; also a ValueError
├── UnknownTriggerRule          a trigger rule that does not exist; also a ValueError
├── SourceFileError             a test's file of connections or variables cannot be used; also a ValueError
├── TransientError              raised by a step: the same call may succeed later; the step is tried again
│   └── RateLimitedError        ... when the other side says how often it may be asked
├── StepError                   something asked of durable steps cannot be done
│   └── AwakeableTimedOut       nobody posted the token before the deadline
├── AttemptLost                 what callbacks are told of an attempt that was killed or lost with its worker
├── DagTestFailed               a run of dag.test() failed and was asked to raise; also an AssertionError
├── ExternalTaskError           what a sensor waits for in another DAG has failed or does not exist
├── AnswerError                 what a sensor asked answered in a way that it can make nothing of
├── HumanStepTimeout            nobody answered a human step in time
├── TaskDeferralError           the trigger of a deferred task failed
│   └── TaskDeferralTimeout     ... or brought no event in time
└── TaskEnd                     raised by a task's own code to end its attempt in a certain state
    ├── SkipTask                ... as skipped
    └── FailTask                ... as failed, retries or not
        ├── StepPlanChangedError  recorded steps are of other code than the one that is to replay them
        ├── SensorTimeout       a sensor's condition did not come true in time
        └── HumanStepRejected   an approval was refused
TaskTimeout (BaseException)     the attempt ran longer than its execution_timeout
TaskTerminated (BaseException)  the attempt was told to stop
TaskDeferred (BaseException)    the attempt ends here, and goes on when its trigger fires (treadle.triggers.deferral)
StepSuspended (BaseException)   the attempt ends here, and goes on in a new one when what it waits for has come
TaskSuspended (BaseException)   the same, of sensors and human steps (treadle.errors_of_waits)
└── RescheduleTask              ... raised by a task's own code
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from treadle.source import Site, site_here
from treadle.wording import did_you_mean, shown


class TreadleError(Exception):
    """Something asked of the SDK cannot be done; ``str()`` says what, which, and what to do."""


class DagError(TreadleError):
    """A DAG file defines something that cannot be. ``file`` and ``line`` say where, ``fact`` says what.

    The place is the caller's own line unless ``site`` names another.
    """

    def __init__(self, fact: str, *, site: Site | None = None) -> None:
        self.fact = fact
        self.file, self.line = site or site_here()
        super().__init__(fact)

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.fact}"


class InvalidIdError(DagError, ValueError):
    """An id of a DAG, task or group that cannot be used: it becomes part of log paths and URLs (cases F2, F3)."""

    def __init__(self, what: str, name: object, expected: str, *, site: Site | None = None) -> None:
        super().__init__(f"{what} id {shown(name)} cannot be used: expected {expected}", site=site)


class DuplicateIdError(DagError):
    """Two things of one name. ``first`` is where the earlier one is defined."""

    def __init__(self, what: str, name: str, where: str, *, first: Site, site: Site | None = None) -> None:
        super().__init__(
            f"{what} {shown(name)} is defined twice in {where}: "
            f"first in {first[0]}, line {first[1]}; rename one of them",
            site=site,
        )


class CycleError(DagError):
    """Tasks that wait for one another. ``path`` begins and ends with the same task id."""

    def __init__(self, dag_id: str, path: Sequence[str], *, site: Site | None = None) -> None:
        self.path = tuple(path)
        shortened = [*path[:10], "...", *path[-10:]] if len(path) > 24 else path
        super().__init__(
            f"DAG {shown(dag_id)} has a cycle: {' >> '.join(shortened)}; remove one of these dependencies",
            site=site,
        )


class UnknownArgumentError(DagError, TypeError):
    """An argument that an operator or a DAG does not have."""

    def __init__(
        self, owner: str, name: str, known: Iterable[str], *, hint: str = "", site: Site | None = None
    ) -> None:
        advice = f"; {hint}" if hint else did_you_mean(name, known)
        super().__init__(f"{owner} has no argument {shown(name)}{advice}", site=site)


class MissingArgumentError(DagError, TypeError):
    """An argument that an operator needs."""

    def __init__(self, owner: str, names: Sequence[str], *, site: Site | None = None) -> None:
        listed = ", ".join(repr(name) for name in names)
        super().__init__(f"{owner} needs the argument{'s' if len(names) > 1 else ''} {listed}", site=site)


class InvalidArgumentError(DagError, ValueError):
    """An argument of the wrong type or value."""

    def __init__(self, owner: str, name: str, value: object, expected: str, *, site: Site | None = None) -> None:
        super().__init__(f"{owner}: {name}={shown(value)} cannot be used; expected {expected}", site=site)


class TaskNotFoundError(TreadleError, LookupError):
    """A task id that the DAG does not have."""

    def __init__(self, dag_id: str, task_id: str, known: Iterable[str]) -> None:
        super().__init__(f"DAG {shown(dag_id)} has no task {shown(task_id)}{did_you_mean(task_id, known)}")


class ParamError(TreadleError, ValueError):
    """A param's value does not fit its schema, or there is none."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"param {shown(name)}: {reason}")
        self.name = name
        self.reason = reason


class XComTypeError(TreadleError, TypeError):
    """A value that cannot be handed to other tasks; refused when it is pushed (case G9)."""

    def __init__(self, *, key: str, path: str, reason: str) -> None:
        super().__init__(f"XCom {shown(key)} cannot be stored: {path} {reason}")
        self.key = key
        self.path = path
        self.reason = reason


class XComTooLargeError(TreadleError, ValueError):
    """A value larger than the installation allows (case G8). Sizes are in bytes."""

    def __init__(self, *, key: str, size: int, limit: int) -> None:
        super().__init__(
            f"XCom {shown(key)} is {size:,} bytes, more than the limit of {limit:,}; "
            "store the data elsewhere and return its address"
        )
        self.key = key
        self.size = size
        self.limit = limit


class BranchError(TreadleError, ValueError):
    """A branch chose something that is no task or group of its DAG. ``known`` are the ids that it could have meant."""

    def __init__(self, task_id: str, fact: str, expected: str, name: str = "", known: Iterable[str] = ()) -> None:
        super().__init__(f"branch {shown(task_id)} {fact}; expected {expected}{did_you_mean(name, known)}")


class ReservedKeyError(TreadleError, ValueError):
    """An XCom key that Treadle keeps for itself."""

    def __init__(self, key: str, prefix: str) -> None:
        super().__init__(f"XCom {shown(key)} cannot be pushed: keys that begin with {shown(prefix)} are Treadle's own")


class CommandError(TreadleError):
    """A command ended with an exit code other than 0, or by a signal (a negative code)."""

    def __init__(self, exit_code: int, last_line: str) -> None:
        how = f"was ended by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
        tail = f"; its last line was {shown(last_line, 200)}" if last_line else ""
        super().__init__(f"the command {how}{tail}")
        self.exit_code = exit_code


class NoSuchAssetError(TreadleError, KeyError):
    """An asset was asked for that a task has no inlet, outlet or triggering event of; ``.get`` gives its default."""

    def __init__(self, what: str, asked: object, known: Iterable[object]) -> None:
        listed = ", ".join(shown(one) for one in known) or "none"
        super().__init__(f"the task has no {what} {shown(asked)}; it has: {listed}")

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would show it quoted


class NotInTaskError(TreadleError, RuntimeError):
    """Something that only a running task has was asked for while no task runs in this process."""

    def __init__(self, act: str) -> None:
        super().__init__(f"{act} works only while a task runs; call it inside the task's function, not at file level")


class Asker(StrEnum):
    """Who asked for a variable or connection: it decides where it is looked for, and what helps if none is there."""

    FILE = "file"
    """Code at the level of a DAG file: it has the environment only, never the database."""
    TEST = "test"
    """A task of ``dag.test()`` or ``tasks test``: what the test was given, and the environment."""
    TASK = "task"
    """A task of a worker: the environment, and the database."""


class VariableNotFoundError(TreadleError, LookupError):
    """There is no variable of that key, and no default was given. ``environment`` is the name looked for there."""

    def __init__(self, *, key: str, environment: str, asker: Asker) -> None:
        advice = {
            Asker.FILE: f"{_AT_FILE_LEVEL}; {_inside_a_task('Variable', 'var.value', key)}, set {environment} in the "
            "environment of the scheduler and the DAG processor, or give a default",
            Asker.TEST: f"{_IN_A_TEST}; give it as variables={{{shown(key)}: ...}} or --variable-file, "
            f"in the environment as {environment}, or give a default",
            Asker.TASK: f"; set it with 'treadle variables set', in the environment as {environment}, "
            "or give a default",
        }
        super().__init__(f"there is no variable {shown(key)}{advice[asker]}")
        self.key = key


class VariableValueError(TreadleError, ValueError):
    """A variable's text is not the JSON that was expected. The text itself is not shown: it may be a secret."""

    def __init__(self, *, key: str, reason: str) -> None:
        super().__init__(f"variable {shown(key)} is not JSON: {reason}")
        self.key = key


class ConnectionNotFoundError(TreadleError, LookupError):
    """There is no connection of that id. ``environment`` is the name looked for there."""

    def __init__(self, *, conn_id: str, environment: str, asker: Asker) -> None:
        advice = {
            Asker.FILE: f"{_AT_FILE_LEVEL}; {_inside_a_task('Connection', 'conn', conn_id)}, or set {environment} in "
            "the environment of the scheduler and the DAG processor",
            Asker.TEST: f"{_IN_A_TEST}; give it as connections={{{shown(conn_id)}: ...}} or --conn-file, "
            f"or in the environment as {environment}",
            Asker.TASK: f"; make it with 'treadle connections set', or in the environment as {environment}",
        }
        super().__init__(f"there is no connection {shown(conn_id)}{advice[asker]}")
        self.conn_id = conn_id


_AT_FILE_LEVEL: Final = " here, at file level: DAG files are imported without the database"
_IN_A_TEST: Final = " in this test, which has no database"


def _inside_a_task(kind: str, template: str, name: str) -> str:
    return f"use a template ({{{{ {template}.{name} }}}}), call {kind}.get inside a task"


class ConnectionFormatError(TreadleError, ValueError):
    """A connection's text or fields cannot be read. They are not shown: they may hold a password."""

    def __init__(self, *, conn_id: str, reason: str) -> None:
        super().__init__(f"connection {shown(conn_id)} cannot be used: {reason}")
        self.conn_id = conn_id
        self.reason = reason


class TemplateFieldError(TreadleError):
    """A template cannot be rendered."""

    def __init__(self, task_id: str, field: str, reason: str) -> None:
        super().__init__(f"template field {field} of task {shown(task_id)} cannot be rendered: {reason}")


class LibraryMissingError(TreadleError, ImportError):
    """A stored value needs a library that this worker does not have."""

    def __init__(self, library: str, what: str) -> None:
        super().__init__(f"an XCom holds a {what}; install {library} where the task that reads it runs")


class InvalidSchedule(TreadleError, ValueError):
    """The text or the numbers of a schedule make no timetable."""

    def __init__(self, what: str, found: object, expected: str, advice: str = "") -> None:
        super().__init__(f"{what} {found!r} {expected}{' ' + advice if advice else ''}")
        self.what = what
        self.found = found


class UnknownTriggerRule(TreadleError, ValueError):
    """A trigger rule that does not exist. ``known`` are those that do."""

    def __init__(self, rule: str, known: Sequence[str]) -> None:
        super().__init__(
            f"there is no trigger rule {shown(rule)}{did_you_mean(rule, known)}; the rules are: {', '.join(known)}"
        )
        self.rule = rule


class SourceFileError(TreadleError, ValueError):
    """A file of connections or variables for a test cannot be used."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"file {shown(path)} of connections or variables cannot be used: {reason}")


class TransientError(TreadleError):
    """Raised by a durable step's own code: the same call may succeed later, so the step is tried again."""


class RateLimitedError(TransientError):
    """Raised by a durable step's own code: the other side refuses more calls for now, ``retry_after`` in seconds."""

    def __init__(self, message: str = "the rate limit is reached", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StepError(TreadleError):
    """Something asked of durable steps cannot be done."""


class AwakeableTimedOut(StepError):
    """Nobody posted the token of an awakeable before its deadline; a later post is refused."""

    def __init__(self, name: str, deadline: str) -> None:
        super().__init__(f"awakeable {shown(name)}: nobody posted its token before the deadline {deadline}")


class AttemptLost(TreadleError):
    """An attempt was killed or lost with its worker; callbacks find it as ``exception`` in their context (case A47)."""


class DagTestFailed(TreadleError, AssertionError):
    """A run of ``dag.test()`` failed; ``failures`` tell of each task that did, with its traceback."""

    def __init__(self, *, dag_id: str, run_id: str, failures: Sequence[str]) -> None:
        super().__init__(f"run {run_id} of DAG {shown(dag_id)} failed\n" + "\n".join(failures))


class TaskEnd(TreadleError):
    """Raised by a task's own code to end its attempt in a certain state."""


class SkipTask(TaskEnd):
    """End this attempt as skipped."""


class FailTask(TaskEnd):
    """End this task as failed at once: no retry is tried."""


class StepPlanChangedError(FailTask):
    """The recorded steps of a task are of other code than the one that is to replay them; no retry can help."""

    def __init__(self, task: str, pinned: str, found: str) -> None:
        super().__init__(
            f"the steps of {task} were recorded by code {pinned}, and its code is now {found}: nothing is replayed. "
            "Go on with the new code and the recorded steps: treadle steps accept; begin anew: treadle steps discard"
        )
        self.pinned = pinned
        self.found = found


class StepSuspended(BaseException):
    """The attempt ends here and a new one goes on when a sleep or an awakeable is over: let it pass.

    No Exception, so that ``except Exception`` lets it pass. ``resume`` says when, and for which step.
    """

    def __init__(self, resume: dict[str, str]) -> None:
        super().__init__(f"step {resume['name']!r} waits until {resume['at']}")
        self.resume = resume


class TaskTimeout(BaseException):
    """The attempt ran longer than its ``execution_timeout``. No Exception: ``except Exception`` must let it pass."""


class TaskTerminated(BaseException):
    """The attempt was told to stop (SIGTERM). No Exception, so that ``except Exception`` lets it pass."""
