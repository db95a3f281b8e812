"""# Regional report

Teaches params and templates: what a person may set for one run, and how the values reach the tasks.

A value from outside never becomes part of a command's text. It goes into the environment, where Bash reads it as data:
`"$TITLE"` stays one word whatever is in it, while `echo {{ params.title }}` would let the title run commands.
"""

import csv
import os
from datetime import UTC, datetime
from pathlib import Path

from treadle import BashOperator, Param, dag, task

ORDERS = Path(__file__).parent / "data" / "orders.csv"
HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")


@dag(
    schedule="0 7 * * MON",
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    catchup=False,
    # Values are checked against these JSON schemas before a run is made; the trigger form is made from them too.
    params={
        "region": Param("north", type="string", enum=["north", "south", "west"]),
        "least": Param(10.0, type="number", minimum=0, description="Leave out orders worth less"),
        "title": Param("Weekly report", type="string", maxLength=200),
        "folder": Param(str(HOME / "examples"), type="string", description="Where results are written"),
    },
    tags=["example"],
    doc_md=__doc__,
)
def regional_report():
    @task
    def select(params):
        """Params come as Python values of their schema's type."""
        with ORDERS.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["region"].lower() == params["region"]]
        worth = {row["order_id"]: value(row) for row in rows}
        chosen = {order: amount for order, amount in worth.items() if amount >= params["least"]}
        return {"orders": len(chosen), "revenue": round(sum(chosen.values()), 2)}

    # The arguments of operators are templates where the operator says so (template_fields): here the environment.
    # Values of other tasks come through ti.xcom_pull.
    write = BashOperator(
        task_id="write",
        bash_command='mkdir -p "$FOLDER" && printf "# %s\\n\\nRegion %s on %s: %s orders, revenue %s\\n"'
        ' "$TITLE" "$REGION" "$DAY" "$ORDERS" "$REVENUE" > "$FOLDER/report.md" && wc -l < "$FOLDER/report.md"',
        env={
            "FOLDER": "{{ params.folder }}",
            "TITLE": "{{ params.title }}",
            "REGION": "{{ params.region }}",
            "DAY": "{{ dag_run.run_after.strftime('%Y-%m-%d') }}",
            "ORDERS": "{{ ti.xcom_pull(task_ids='select')['orders'] }}",
            "REVENUE": "{{ ti.xcom_pull(task_ids='select')['revenue'] }}",
        },
        append_env=True,  # keep PATH
    )

    # The template reads from `select` without an argument that would say so: the order must be told.
    select() >> write


def value(row):
    """Return what the order is worth; 0 if the row cannot be read."""
    try:
        return max(int(row["quantity"]), 0) * float(row["price"])
    except ValueError:
        return 0.0


regional_report()
