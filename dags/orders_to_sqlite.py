"""# Orders to SQLite

Teaches tasks that hand values on: load the orders that ship with this file, clean them, store and aggregate them in
SQLite, and check the result before anyone reads it.

Small values travel between tasks by themselves (XCom). Data does not: a task hands on the *path* of what it wrote.
"""

import csv
import os
import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from treadle import Asset, Param, dag, task

ORDERS = Path(__file__).parent / "data" / "orders.csv"
HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")
CHECKED = Asset("checked_orders")  # the DAG best_sellers runs whenever it is updated
FIELDS = ("order_id", "day", "region", "product", "quantity", "price")


@dag(
    schedule="30 6 * * *",
    start_date=datetime(2025, 1, 1, tzinfo=ZoneInfo("Europe/Vienna")),  # 06:30 in Vienna, summer and winter
    catchup=False,  # a new DAG makes one run, not one for each day since January
    default_args={
        "retries": 2,
        "retry_delay": timedelta(seconds=10),
        "execution_timeout": timedelta(minutes=2),
    },
    params={"folder": Param(str(HOME / "examples"), type="string", description="Where results are written")},
    tags=["example"],
    doc_md=__doc__,
)
def orders_to_sqlite():
    # A parameter named like an entry of the run's context (params, ds, logical_date, ...) is filled from it.
    @task
    def clean(params):
        """Drop double and unreadable rows; make the rest uniform."""
        with ORDERS.open(newline="") as file:
            rows = list(csv.DictReader(file))
        cleaned = {row["order_id"]: row for row in map(tidied, rows) if row is not None}
        path = Path(params["folder"]) / "orders_clean.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(cleaned.values())
        print(f"kept {len(cleaned)} of {len(rows)} rows")
        return {"path": str(path), "read": len(rows), "kept": len(cleaned)}

    @task
    def load(cleaned, params):
        """Store the orders. One transaction and REPLACE: a retry or a second run changes nothing."""
        database = Path(params["folder"]) / "orders.sqlite"
        with (
            open(cleaned["path"], newline="") as file,
            closing(sqlite3.connect(database)) as connection,
            connection,
        ):
            connection.execute(
                "CREATE TABLE IF NOT EXISTS orders (order_id INTEGER PRIMARY KEY, day TEXT, region TEXT,"
                " product TEXT, quantity INTEGER, price REAL)"
            )
            connection.executemany(
                "REPLACE INTO orders VALUES (:order_id, :day, :region, :product, :quantity, :price)",
                csv.DictReader(file),
            )
        return str(database)

    @task
    def aggregate(database):
        """Sum up the revenue per day and product."""
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute("DROP TABLE IF EXISTS revenue")
            connection.execute(
                "CREATE TABLE revenue AS SELECT day, product, SUM(quantity) AS pieces,"
                " ROUND(SUM(quantity * price), 2) AS revenue FROM orders GROUP BY day, product"
            )
            (total,) = connection.execute("SELECT ROUND(SUM(revenue), 2) FROM revenue").fetchone()
        return total

    @task(retries=0, outlets=[CHECKED])  # another try would find the same data
    def check(database, cleaned, total, outlet_events):
        """Fail, and so stop what comes after, if the numbers do not add up."""
        with closing(sqlite3.connect(database)) as connection:
            stored, worth = connection.execute(
                "SELECT COUNT(*), ROUND(SUM(quantity * price), 2) FROM orders"
            ).fetchone()
            (below_zero,) = connection.execute("SELECT COUNT(*) FROM orders WHERE quantity <= 0").fetchone()
        problems = []
        if stored != cleaned["kept"]:
            problems.append(f"{stored} orders stored, {cleaned['kept']} cleaned")
        if abs(worth - total) > 0.05:
            problems.append(f"orders are worth {worth}, the aggregate says {total}")
        if below_zero:
            problems.append(f"{below_zero} orders of zero or fewer pieces")
        if cleaned["kept"] < 0.8 * cleaned["read"]:
            problems.append(f"only {cleaned['kept']} of {cleaned['read']} rows were usable")
        if problems:
            raise ValueError("; ".join(problems))
        print(f"{stored} orders worth {worth}: all checks passed")
        outlet_events[CHECKED].extra = {"database": database, "orders": stored}

    # Calling a task gives its future result; handing it to another task makes that one wait for it.
    cleaned = clean()
    database = load(cleaned)
    check(database, cleaned, aggregate(database))


def tidied(row):
    """Return the row made uniform, or None if it cannot be used. A plain function: easy to test by itself."""
    try:
        quantity, price = int(row["quantity"]), float(row["price"])
        day = date.fromisoformat(row["day"]).isoformat()
    except ValueError:
        return None
    if quantity <= 0 or price < 0:
        return None
    words = {name: row[name].strip().lower() for name in ("region", "product")}
    return {"order_id": row["order_id"], "day": day, "quantity": quantity, "price": price, **words}


orders_to_sqlite()
