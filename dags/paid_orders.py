"""# Paid orders

Teaches durable steps: what a task has paid for stays paid when the task dies half-way, and is not paid again.

The first try fails after it has charged the second order. The retry replays both charges from the journal and goes on
with the third. The ledger, which plays the payment service, holds each charge once.
"""

import json
from datetime import timedelta
from pathlib import Path

from treadle import Param, dag, step, task


@task.step(retries=5, retry_delay=0.5)
def charge(ledger, order, amount):
    """Ask the payment service, naming the effect by its key, so that a repeated call is recognised there."""
    with Path(ledger).open("a") as file:
        file.write(json.dumps({"key": step.idempotency_key, "order": order, "amount": amount}) + "\n")
    return f"receipt of {order}"


@dag(doc_md=__doc__, params={"folder": Param("/tmp", type="string")}, tags=["example"])
def paid_orders():
    """Charge three orders, once each."""

    @task(retries=1, retry_delay=timedelta(seconds=1))
    def charge_all(folder, ti=None):
        """Charge the orders one after another; the first try dies after the second."""
        receipts = []
        for order, amount in (("a", 10), ("b", 20), ("c", 30)):
            receipts.append(charge(f"{folder}/ledger.jsonl", order, amount))
            if ti.try_number == 1 and order == "b":
                raise ConnectionError("the machine went away")
        return receipts

    charge_all("{{ params.folder }}")


paid_orders()
