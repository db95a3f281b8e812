"""Files that come out differently each time make one version, and say where that comes from (case G3)."""

from __future__ import annotations

from tests.support.parsing import Parsed, running

PROCESSES, PARSES = 4, 10

SOURCE = """
import random
import uuid
from datetime import datetime, timedelta

from treadle import DAG, BashOperator, EmptyOperator, task

NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]

with DAG("moving_start", schedule="@daily", start_date=datetime.now() - timedelta(days=1)):
    EmptyOperator(task_id="one")

with DAG("random_text"):
    BashOperator(
        task_id="one",
        bash_command=f"echo {uuid.uuid4()}",
    )

with DAG("set_order", params={name: 1 for name in set(NAMES)}, tags={*NAMES}):
    BashOperator(task_id="one", bash_command="true", env={name: "1" for name in set(NAMES)})

with DAG("random_order", params={name: 1 for name in random.sample(NAMES, len(NAMES))}):
    BashOperator(task_id="one", bash_command="true", env=dict.fromkeys(random.sample(NAMES, len(NAMES)), "1"))

with DAG("mapped"):
    @task
    def make():
        return [1, 2, 3]

    @task
    def each(number, words):
        return number

    each.partial(words=NAMES).expand(number=make())
"""
DAGS = ("moving_start", "random_text", "set_order", "random_order", "mapped")


def test_many_parses_make_one_version_of_each_dag_and_warn_of_the_line_that_moves(parsed: Parsed) -> None:
    for process in range(PROCESSES):  # each has another order of sets
        with running(parsed):
            for number in range(PARSES):
                before = parsed.parsed_at("a.py")
                parsed.write("a.py", SOURCE + f"# edit {process}.{number}\n")
                parsed.wait_for_parse("a.py", before)
    assert parsed.error("a.py") is None
    assert {dag_id: len(parsed.versions(dag_id)) for dag_id in DAGS} == dict.fromkeys(DAGS, 1)
    lines = {dag_id: parsed.warnings(dag_id).get("unstable field", "") for dag_id in DAGS}
    assert lines.pop("moving_start").startswith("a.py, line 10: start_date came out differently")
    assert lines.pop("random_order").startswith("a.py, line 22: order of params came out differently")
    # A command is no part of the document, and a set has no order there.
    assert not any(lines.values()), lines
