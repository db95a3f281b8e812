"""Assets through real processes: a task's update, the run that it makes elsewhere, and what that run's tasks learn."""

from __future__ import annotations

import httpx
from tests.support.installed import Installed, run_path
from tests.support.waiting import wait_until

PRODUCER = """
from treadle import DAG, Asset, AssetAlias, Metadata, task

orders, files = Asset("orders", "s3://bucket/orders"), AssetAlias("files")

with DAG("producer"):

    @task(outlets=[orders, files])
    def load(outlet_events):
        outlet_events[files].add(Asset("part 1"), {"bytes": 7})
        yield Metadata(orders, {"rows": 3, "text": "{{ 1 + 1 }}; id"})

    load()
"""

CONSUMER = """
from treadle import DAG, Asset, AssetAlias, BashOperator, task

orders = Asset.ref(name="orders")

with DAG("consumer", schedule=orders & AssetAlias("files"), is_paused_upon_creation=False) as dag:

    @task(inlets=[orders])
    def read(triggering_asset_events, inlet_events, inlets):
        told = {asset.name: [event.extra for event in events] for asset, events in triggering_asset_events.items()}
        newest = inlet_events[orders][-1]
        return [told, newest.extra["rows"], newest.source_dag_id, newest.uri]

    read()
    BashOperator(
        task_id="show",
        bash_command='echo "$TEXT"',
        env={"TEXT": "{{ triggering_asset_events.values() | map('first') | map(attribute='extra') | list | tojson }}"},
    )
"""

MADE = """
from treadle import Asset, asset

@asset(schedule=[Asset.ref(name="orders")], uri="s3://bucket/sales", is_paused_upon_creation=False)
def sales(self, orders):
    return [self.uri, orders.uri]
"""


def value_of(client: httpx.Client, dag_id: str, run_id: str, task_id: str) -> object:
    answer = client.get(f"{run_path(dag_id, run_id)}/taskInstances/{task_id}/xcomEntries/return_value")
    assert answer.status_code == 200, answer.text
    return answer.json()["value"]


def test_an_update_by_a_task_makes_runs_whose_tasks_learn_of_it(installed: Installed, client: httpx.Client) -> None:
    """Case F24 with real workers, too: what an extra says is data."""
    installed.add("consumer.py", CONSUMER)
    installed.add("sales.py", MADE)
    installed.add("producer.py", PRODUCER)
    for dag_id in ("consumer", "sales"):
        installed.wait_for_dag(dag_id, 30)
    run_id = installed.run_of("producer")
    assert installed.end_of("producer", run_id) == "success"

    def made(dag_id: str) -> list[str]:
        sql = "SELECT run_id FROM dag_run WHERE dag_id = %(dag_id)s"
        return [str(row["run_id"]) for row in installed.select(sql, dag_id=dag_id)]

    wait_until(lambda: len(made("consumer")) == len(made("sales")) == 1, 30)
    (consumer,), (sales,) = made("consumer"), made("sales")
    assert installed.end_of("consumer", consumer) == installed.end_of("sales", sales) == "success"
    extra = {"rows": 3, "text": "{{ 1 + 1 }}; id"}
    told = {"orders": [extra], "part 1": [{"bytes": 7}]}
    assert value_of(client, "consumer", consumer, "read") == [told, 3, "producer", "s3://bucket/orders"]
    assert "{{ 1 + 1 }}; id" in str(value_of(client, "consumer", consumer, "show"))
    assert value_of(client, "sales", sales, "sales") == ["s3://bucket/sales", "s3://bucket/orders"]
    events = client.get(f"{run_path('consumer', consumer)}/upstreamAssetEvents").json()["asset_events"]
    assert sorted(one["name"] for one in events) == ["orders", "part 1"]
    assert {one["source_run_id"] for one in events} == {run_id}


def test_the_consumers_run_is_made_in_the_beat_that_hears_of_the_update(installed: Installed) -> None:
    found = installed.select(
        """
        SELECT extract(epoch FROM run.queued_at - event.happened_at)::float8 AS seconds
        FROM dag_run_asset_event AS taken JOIN dag_run AS run ON run.id = taken.dag_run_id
        JOIN asset_event AS event ON event.id = taken.event_id
        """
    )
    assert len(found) == 3
    assert max(float(row["seconds"]) for row in found) < 2
