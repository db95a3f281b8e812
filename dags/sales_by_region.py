"""# Sales by region

Teaches mapped task groups: the same steps for each region, where how many regions there are is known only at run time.

Each region goes through the steps by itself: the summary of one is written while another is still being read, and a
region that fails or has little to tell touches no other. Clear one index of a task to run that region again.
"""

import csv
import os
from datetime import UTC, datetime
from pathlib import Path

from treadle import Param, dag, task, task_group

ORDERS = Path(__file__).parent / "data" / "orders.csv"
HOME = Path(os.environ.get("TREADLE_HOME") or Path.home() / ".treadle")


@dag(
    schedule=None,
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    params={
        "least": Param(60.0, type="number", minimum=0, description="Regions that sold for less get one line only"),
        "folder": Param(str(HOME / "examples"), type="string", description="Where results are written"),
    },
    tags=["example"],
    doc_md=__doc__,
)
def sales_by_region():
    @task
    def find_regions():
        with ORDERS.open(newline="") as file:
            return sorted({row["region"].lower() for row in csv.DictReader(file)})

    # The function is called once, while the file is read: `region` stands for the item of each instance.
    @task_group
    def each_region(region, digits):
        @task(map_index_template="{{ task.op_kwargs['region'] }}")
        def sales(region, digits):
            """Add up what each product of one region sold for."""
            return {product: round(value, digits) for product, value in sorted(sold_in(region).items())}

        # A branch decides for its own region alone.
        @task.branch
        def how_much(sold, params):
            return "each_region.in_full" if sum(sold.values()) >= params["least"] else "each_region.in_short"

        @task
        def in_full(region, sold):
            return f"{region}: " + ", ".join(f"{product} {value}" for product, value in sold.items())

        @task
        def in_short(region):
            return f"{region}: little"

        @task(trigger_rule="none_failed_min_one_success")
        def line(long, short):
            return long or short

        sold = sales(region=region, digits=digits)
        long, short = in_full(region, sold), in_short(region)
        how_much(sold) >> [long, short]
        return line(long, short)

    @task
    def write(lines, params):
        """After the group all results come together, in the order of the regions."""
        target = Path(params["folder"]) / "sales_by_region.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{line}\n" for line in lines))
        return len(lines)

    # partial() fixes an argument for all regions, expand() makes one instance of the whole group for each.
    write(each_region.partial(digits=2).expand(region=find_regions()))


def sold_in(region):
    """Return what each product sold for in a region."""
    found = {}
    with ORDERS.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["region"].lower() == region:
                product = row["product"].strip().lower()
                found[product] = found.get(product, 0) + worth(row)
    return found


def worth(row):
    """Return what an order is worth; 0 for a row that cannot be read."""
    try:
        return int(row["quantity"]) * float(row["price"])
    except ValueError:
        return 0


sales_by_region()
