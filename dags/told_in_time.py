"""# Told in time

Teaches how people hear of what happens: callbacks at the end of a run, a notifier of one's own, a deadline, and a retry
policy that tells what is worth another try from what is not.

The notifier writes lines into `told.txt` instead of sending them, so that the example needs no server; `SmtpNotifier`
and `WebhookNotifier` stand in the same places.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from treadle import (
    BaseNotifier,
    DeadlineAlert,
    DeadlineReference,
    ExceptionRetryPolicy,
    Param,
    RetryAction,
    RetryRule,
    SyncCallback,
    dag,
    task,
)

HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")


class FileNotifier(BaseNotifier):
    """Adds a line to `told.txt` in the folder that the run names."""

    template_fields = ("text",)  # rendered with the context before notify() is called

    def __init__(self, text, **named):
        super().__init__(**named)
        self.text = text

    def notify(self, context):
        folder = Path(context["params"]["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "told.txt").open("a") as file:
            file.write(f"{self.text}\n")


WORTH_A_TRY = ExceptionRetryPolicy(
    rules=[
        RetryRule(ConnectionError, retry_delay=timedelta(seconds=10), reason="the supplier's service is busy"),
        RetryRule(LookupError, action=RetryAction.FAIL, reason="asking again does not make the order exist"),
    ]
)


@dag(
    schedule=None,
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    params={
        "order": Param("1001", type="string", description="Which order to follow"),
        "folder": Param(str(HOME / "examples"), type="string", description="Where told.txt is written"),
    },
    on_success_callback=FileNotifier("order {{ params.order }} was followed"),
    on_failure_callback=FileNotifier("order {{ params.order }} could not be followed: {{ reason }}"),
    deadline=DeadlineAlert(
        DeadlineReference.DAGRUN_QUEUED_AT,
        timedelta(minutes=10),
        SyncCallback(FileNotifier, kwargs={"text": "{{ run_id }} should have ended by {{ deadline.deadline_time }}"}),
        name="ten minutes",
    ),
    tags=["example"],
    doc_md=__doc__,
)
def told_in_time():
    """Follow an order with its supplier."""

    @task(
        retries=3,
        retry_policy=WORTH_A_TRY,
        on_retry_callback=FileNotifier("try {{ ti.try_number }}: {{ exception }}"),
    )
    def follow(order: str, try_number=None) -> str:
        if not order.isdigit():
            raise LookupError(f"there is no order {order!r}")
        if try_number == 1:
            raise ConnectionError("429: ask later")  # the service of this example is always busy at first
        return f"order {order} is on its way"

    follow("{{ params.order }}")


told_in_time()
