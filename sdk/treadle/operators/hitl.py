"""Human steps: tasks that ask people and go on with the answer.

``execute`` asks the server, which keeps the question; the notifiers tell people of it, once; then the attempt ends and
the task waits without a slot, a worker or a trigger (``up_for_reschedule``). A person answers by the REST API, the UI
or ``treadle humans answer``, and a new attempt goes on with the answer. A lost worker loses nothing: the next attempt
finds the question, or its answer. Names and arguments follow Airflow's standard provider.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from treadle import skipping
from treadle.errors import InvalidArgumentError, NotInTaskError
from treadle.errors_of_waits import AN_ANSWER, HumanStepRejected, HumanStepTimeout, TaskSuspended
from treadle.operators.arguments import seconds_or_delta
from treadle.operators.base import BaseOperator
from treadle.operators.branch import follow
from treadle.params import ParamsDict
from treadle.runtime import current
from treadle.runtime.calling import call_with_context
from treadle.runtime.showing import storable_text
from treadle.wording import did_you_mean

_FOR_EVER: Final = timedelta(days=100 * 366)

HITLUser = Mapping[str, str]
"""Somebody who may answer: ``id`` is the name of the account, ``name`` what people are shown."""


class HITLOperator(BaseOperator):
    """Asks people to choose among ``options``, and to fill ``params`` in; the answer is the task's XCom.

    That is a dict: ``chosen_options``, ``params_input``, ``responded_at`` (ISO 8601), ``responded_by_user`` ({"id",
    "name"}, None for defaults) and ``timedout``. ``subject`` and ``body`` (Markdown) are templates. After
    ``response_timeout`` (timedelta or seconds; ``execution_timeout``, if it is not given) ``defaults`` are the answer;
    without defaults the task fails, and a retry asks anew. ``assigned_users`` (names of accounts, or {"id", "name"})
    are the only ones who may answer. ``notifiers`` are called with the context when the question is asked.

    Raises:
        InvalidArgumentError: the options are empty or doubled, or the defaults are none of them.
    """

    template_fields: Collection[str] = ("subject", "body")

    def __init__(
        self,
        *,
        subject: str,
        options: Sequence[str],
        body: str | None = None,
        defaults: str | Sequence[str] | None = None,
        multiple: bool = False,
        params: ParamsDict | Mapping[str, Any] | None = None,
        notifiers: Callable[[Any], Any] | Sequence[Callable[[Any], Any]] | None = None,
        assigned_users: HITLUser | str | Sequence[HITLUser | str] | None = None,
        response_timeout: timedelta | float | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.subject = subject
        self.body = body
        self.options = [options] if isinstance(options, str) else list(options)
        self.defaults = [defaults] if isinstance(defaults, str) else None if defaults is None else list(defaults)
        self.multiple = multiple
        self.form = ParamsDict(params)
        self.notifiers = tuple(notifiers) if isinstance(notifiers, (list, tuple)) else (notifiers,) if notifiers else ()
        self.assigned_users = _users(assigned_users)
        self.response_timeout = self._span(response_timeout)
        self._check()

    def _span(self, value: Any) -> timedelta | None:
        try:
            return seconds_or_delta(value)
        except ValueError as reason:
            raise InvalidArgumentError(repr(self), "response_timeout", value, str(reason), site=self.site) from None

    def _check(self) -> None:
        if not self.options or not all(isinstance(one, str) and one for one in self.options):
            self._refuse("options", self.options, "a list of texts, not empty")
        if len(set(self.options)) < len(self.options):
            self._refuse("options", self.options, "each option once")
        unknown = [one for one in self.defaults or () if one not in self.options]
        if unknown:
            hint = did_you_mean(str(unknown[0]), self.options)
            self._refuse("defaults", self.defaults, f"options among {', '.join(self.options)}{hint}")
        if self.defaults is not None and (not self.defaults or (len(self.defaults) > 1 and not self.multiple)):
            self._refuse("defaults", self.defaults, "one option, or several with multiple=True")

    def _refuse(self, name: str, value: Any, expected: str) -> None:
        raise InvalidArgumentError(repr(self), name, value, expected, site=self.site)

    def execute(self, context: Any) -> Any:
        """Ask, or go on with the answer.

        Raises:
            TaskSuspended: nobody has answered yet.
            HumanStepTimeout: nobody has in time, and there are no defaults.
        """
        supervisor = current.supervisor()
        if supervisor is None:
            raise NotInTaskError(f"execute() of {self!r}")
        ti = context["ti"]
        told = supervisor.ask_human(f"{ti.task_id}[{ti.map_index}]", self.question())
        if told["state"] == "timed_out":
            raise HumanStepTimeout(self.subject, told["due_at"])
        if told["state"] == "answered":
            return self.execute_complete(context, _answer(told))
        if told["is_new"]:
            self._notify(context)
        self.log.info("Waiting for an answer to %r; the options are %s", self.subject, ", ".join(self.options))
        raise TaskSuspended(_moment(told["due_at"]), AN_ANSWER, has_limit=told["due_at"] is not None)

    def question(self) -> dict[str, Any]:
        """Return what is asked (``treadle.runtime.supervisor.Supervisor.ask_human``)."""
        limit = self.response_timeout if self.response_timeout is not None else self.execution_timeout
        return {
            "subject": storable_text(str(self.subject)),
            "body": None if self.body is None else storable_text(str(self.body)),
            "options": self.options,
            "defaults": self.defaults,
            "multiple": self.multiple,
            "params": {
                name: {
                    "value": param.value if param.has_value else None,
                    "has_value": param.has_value,
                    "schema": param.schema,
                    "description": param.description,
                }
                for name, param in self.form.params().items()
            },
            "assignees": self.assigned_users,
            "seconds": None if limit is None else limit.total_seconds(),
        }

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:  # noqa: ARG002 - for subclasses
        """Return the task's result, by what was answered."""
        self.log.info("Answered with %s by %s", ", ".join(event["chosen_options"]), _by(event) or "the defaults")
        return event

    def _notify(self, context: Any) -> None:
        """Tell people of the question; one who cannot be told does not keep the others from answering."""
        for notifier in self.notifiers:
            try:
                call_with_context(notifier, context)
            except Exception:
                self.log.exception("notifier %r failed", notifier)


class ApprovalOperator(HITLOperator):
    """Asks for an approval. A rejection skips the tasks that wait for this one, or fails it with ``fail_on_reject``.

    With ``ignore_downstream_trigger_rules=True`` all tasks after this one are skipped, whatever their trigger rules.
    """

    can_skip: ClassVar[bool] = True

    APPROVE: ClassVar[str] = "Approve"
    REJECT: ClassVar[str] = "Reject"

    def __init__(
        self, *, ignore_downstream_trigger_rules: bool = False, fail_on_reject: bool = False, **arguments: Any
    ) -> None:
        super().__init__(**{**arguments, "options": [self.APPROVE, self.REJECT], "multiple": False})
        for name in {"options", "multiple"} & arguments.keys():
            self._refuse(name, arguments[name], "it to be left out: an approval has two options, and takes one")
        self.ignore_downstream_trigger_rules = ignore_downstream_trigger_rules
        self.fail_on_reject = fail_on_reject

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Let the tasks after this one run, or not.

        Raises:
            HumanStepRejected: it was rejected, and ``fail_on_reject`` is set. No retry is tried.
        """
        found = super().execute_complete(context, event)
        approved = event["chosen_options"] == [self.APPROVE]
        if not approved and self.fail_on_reject:
            raise HumanStepRejected(self.subject, _by(event), event["chosen_options"])
        direct_only = not self.ignore_downstream_trigger_rules
        context["ti"].skip_tasks([] if approved else skipping.everything_after(self, direct_only=direct_only))
        return found


class HITLBranchOperator(HITLOperator):
    """Asks which of the tasks after it run: each option is the id of a task or group, or ``options_mapping`` names it.

    The others that wait for this task directly are skipped.
    """

    can_skip: ClassVar[bool] = True

    def __init__(self, *, options_mapping: Mapping[str, str] | None = None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.options_mapping = dict(options_mapping or {})
        unknown = sorted(set(self.options_mapping) - set(self.options))
        if unknown:
            hint = did_you_mean(unknown[0], self.options)
            self._refuse("options_mapping", unknown[0], f"options among {', '.join(self.options)}{hint}")

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Name the tasks to skip.

        Raises:
            BranchError: an option that was chosen is no task or group of the DAG.
        """
        found = super().execute_complete(context, event)
        follow(self, context, [self.options_mapping.get(one, one) for one in event["chosen_options"]])
        return found


class HITLEntryOperator(HITLOperator):
    """Asks people to fill ``params`` in; the only option is OK, unless others are given."""

    def __init__(self, *, options: Sequence[str] = ("OK",), **arguments: Any) -> None:
        super().__init__(**{"options": options, **arguments})
        if not self.form:
            self._refuse("params", {}, "something to fill in")


def _users(given: Any) -> list[dict[str, str]]:
    listed = [] if given is None else [given] if isinstance(given, (str, Mapping)) else list(given)
    return [{"id": one, "name": one} if isinstance(one, str) else dict(one) for one in listed]


def _answer(told: Mapping[str, Any]) -> dict[str, Any]:
    by = told["answered_by"]
    return {
        "chosen_options": told["chosen"],
        "params_input": told["given"],
        "responded_at": told["answered_at"],
        "responded_by_user": None if by is None else {"id": by, "name": by},
        "timedout": told["timed_out"],
    }


def _by(event: Mapping[str, Any]) -> str | None:
    user = event["responded_by_user"]
    return None if user is None else str(user["name"])


def _moment(due_at: str | None) -> datetime:
    return datetime.now(UTC) + _FOR_EVER if due_at is None else datetime.fromisoformat(due_at)
