"""# Best sellers

Teaches schedules by data: this DAG has no clock. It runs whenever the asset `checked_orders` is updated, which the task
`check` of the DAG `orders_to_sqlite` does, and reads from the update where the data lies.

Updates that gather while a run is under way make one further run, which is told of all of them.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from treadle import Asset, Param, SkipTask, dag, task

HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")
CHECKED = Asset.ref(name="checked_orders")


@dag(
    schedule=[CHECKED],
    max_active_runs=1,
    params={"folder": Param(str(HOME / "examples"), type="string", description="Where the list is written")},
    tags=["example"],
    doc_md=__doc__,
)
def best_sellers():
    @task
    def rank(params, triggering_asset_events):
        """List the products by revenue. A run that was triggered by hand has no update to learn from."""
        updates = list(triggering_asset_events.get(CHECKED, ()))
        if not updates:
            raise SkipTask("no orders were checked: run orders_to_sqlite, or trigger this DAG by its asset")
        newest = updates[-1]
        with closing(sqlite3.connect(newest.extra["database"])) as connection:
            products = [
                name
                for (name,) in connection.execute(
                    "SELECT product FROM revenue GROUP BY product ORDER BY SUM(revenue) DESC"
                )
            ]
        path = Path(params["folder"]) / "best_sellers.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(products) + "\n")
        print(f"{len(updates)} updates, the newest with {newest.extra['orders']} orders: {', '.join(products)}")
        return products

    rank()


best_sellers()
