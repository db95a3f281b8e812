"""Two scheduler processes on one database, one of them killed with its workers: the other one takes over, once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.service import Service, service
from tests.support.waiting import wait_until

from treadle_metadata.connection import Database

TASKS = 60


@contextmanager
def stopping(one: Service) -> Iterator[None]:
    """Stop a service that shares its home with another, whose fixture sees that no process is left."""
    try:
        yield
    finally:
        one.stop()


def test_a_killed_scheduler_and_its_workers_cost_one_attempt_each_and_the_other_goes_on(
    home: Path, own_database: Database
) -> None:
    """Cases A47 and A54: found lost once, though two look for it; the next attempt runs to its end."""
    limits = {"TREADLE_PARALLELISM": "4"}
    victim = Service(home, own_database, **limits)
    with service(home, own_database, **limits) as survivor, stopping(victim):
        survivor.install(TASKS, seconds=0.3)
        survivor.start()
        victim.start()
        survivor.trigger()
        wait_until(lambda: survivor.finished() >= 8, 30)
        wait_until(lambda: victim.descendants("treadle_worker.host"), 10)
        victim.kill()
        # It comes back while its attempts are still taken for alive.
        victim.start()
        survivor.wait_for_end()
        survivor.assert_ended_right(TASKS, kills=1)
        lost = survivor.select(
            """
            SELECT task_instance_id, count(*) AS n, min(error ->> 'kind') AS kind
            FROM task_attempt WHERE outcome = 'failed' GROUP BY task_instance_id
            """
        )
        assert {(row["n"], row["kind"]) for row in lost} <= {(1, "lost")}
        assert survivor.process is not None
        assert survivor.process.poll() is None
