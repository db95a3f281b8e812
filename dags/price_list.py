"""# Price list

Teaches waiting: for a file, for another system's endpoint, and for a person, without holding a worker meanwhile.

A supplier's price list is checked as soon as its file is there and the shop's service answers; somebody approves it,
and it is published. Trigger the DAG and answer with `treadle humans list` and `treadle humans answer`, or let the ten
minutes pass: nobody's answer is a rejection, and nothing is published. Give the param `service` an address to wait for.
"""

import csv
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from treadle import ApprovalOperator, Param, PokeReturnValue, SkipTask, dag, task
from treadle.sensors import FileSensor, HttpSensor

HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")


def only_if_there_is_one(context):
    if not context["params"]["service"]:
        raise SkipTask("the param service names no address")


@task
def deliver(params):
    """Stand in for the supplier, who sends the file at some time."""
    folder = Path(params["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prices.csv").write_text("product,price\ntea,4.50\ncoffee,6.20\nhoney,5.80\n")


# Any function can be what a sensor looks at; what it found out goes on as the task's XCom.
@task.sensor(mode="reschedule", poke_interval=2, timeout=timedelta(minutes=10))
def complete(params):
    """Wait until the file has all three products: it may still be being written."""
    with (Path(params["folder"]) / "prices.csv").open() as file:
        prices = {row["product"]: float(row["price"]) for row in csv.DictReader(file)}
    return PokeReturnValue(len(prices) == 3, prices)


@task
def publish(prices, answer, params):
    by = answer["responded_by_user"]["name"]
    lines = [f"{product}: {price:.2f}" for product, price in sorted(prices.items())]
    (Path(params["folder"]) / "price_list.txt").write_text("\n".join([*lines, f"approved by {by}", ""]))


@dag(
    schedule=None,
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    params={
        "folder": Param(str(HOME / "examples"), type="string", description="Where the supplier's file comes"),
        "service": Param("", type="string", description="An http(s) address that must answer before anything is asked"),
    },
    tags=["example"],
    doc_md=__doc__,
)
def price_list():
    deliver()  # nothing waits for it: nobody tells us when the supplier is ready

    # Between two looks none of these holds a slot or a process. A path of one's own needs no connection.
    file_there = FileSensor(
        task_id="file_there",
        filepath="{{ params.folder }}/prices.csv",
        mode="reschedule",
        poke_interval=2,
        timeout=timedelta(minutes=10),
    )
    service_up = HttpSensor(
        task_id="service_up",
        http_conn_id=None,
        endpoint="{{ params.service }}",
        mode="reschedule",
        poke_interval=5,
        timeout=timedelta(minutes=10),
        pre_execute=only_if_there_is_one,
    )
    approve = ApprovalOperator(
        task_id="approve",
        subject="Publish the prices of run {{ run_id }}?",
        body="{% for product, price in ti.xcom_pull('complete').items() %}- {{ product }}: {{ price }}\n{% endfor %}",
        defaults="Reject",
        response_timeout=timedelta(minutes=10),
        trigger_rule="none_failed_min_one_success",  # the service may be skipped
    )
    prices = complete()
    file_there >> prices
    [prices, service_up] >> approve
    publish(prices, approve.output)


price_list()
