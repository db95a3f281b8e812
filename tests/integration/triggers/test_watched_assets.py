"""Assets that are watched: one poll for what several watch, events for each of them, and an end when none does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.deferring import CRYPTO, HandTriggerer, triggers_of
from tests.support.scheduling import TestScheduler, a_dag
from tests.support.triggering import site
from tests.support.waiting import wait_until

from treadle import Asset, AssetWatcher
from treadle.document import AssetCondition, ScheduleDocument, TaskDocument, to_json
from treadle.triggers import FileDeleteTrigger
from treadle_metadata import trigger_answers
from treadle_metadata.assets.references import store_references
from treadle_metadata.assets.watchers import store_watchers
from treadle_metadata.clock import ManualClock, SystemClock
from treadle_metadata.connection import Database
from treadle_metadata.deciding.reasons import Explanation, Reason
from treadle_metadata.deciding.why_assets import with_troubles
from treadle_metadata.queries.health import failing_watchers
from treadle_metadata.queries.triggers import failing_watchers_of
from treadle_metadata.resources import set_variable
from treadle_metadata.rights.teams import create_team, set_folders
from treadle_metadata.settings import Settings
from treadle_metadata.statements import execute, rows

WAITS = Explanation(Reason.ASSETS, "DAG 'd' waits")


def watching(scheduler: TestScheduler, dag_id: str, asset: Asset | None) -> None:
    """Store a DAG that runs for an asset's events, and what it watches."""
    assets = () if asset is None else (asset.document(),)
    condition = AssetCondition("asset", "nothing" if asset is None else asset.name)
    schedule = ScheduleDocument("assets", condition=condition)
    document = a_dag(dag_id, TaskDocument("a", "Operator"), schedule=schedule, assets=assets)
    if dag_id not in scheduler.all_dags():
        scheduler.install(document)
    with scheduler.database.begin() as connection:
        plain = {dag_id: to_json(document)}
        store_references(connection, plain, now=scheduler.clock.now())
        store_watchers(connection, plain, {dag_id: scheduler.versions()[-1]}, now=scheduler.clock.now())


def runs(scheduler: TestScheduler) -> list[str]:
    scheduler.beats()
    return [row["dag_id"] for row in scheduler._select("SELECT dag_id FROM dag_run ORDER BY dag_id, id")]


def test_two_assets_with_one_source_share_a_poll_and_both_get_each_event(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    """Case D11: the consumer of the first is paused."""
    scheduler = TestScheduler(database, settings, clock)
    for name in ("one", "two"):
        watcher = AssetWatcher("inbox", FileDeleteTrigger("/inbox/go"))
        watching(scheduler, f"of_{name}", Asset(name, watchers=[watcher]))
    scheduler.set_dag("of_one", is_paused=True)
    by_hand = HandTriggerer(database, clock)
    (trigger,) = by_hand.beat()
    assert (trigger["is_watcher"], json.loads(trigger["kwargs"])["filepath"]) == (True, "/inbox/go")
    for number in range(2):
        event = {"id": trigger["id"], "kind": "event", "payload": "1", "plain": {"number": number}}
        assert by_hand.fire(event) == {trigger["id"]}
        assert runs(scheduler) == ["of_two"] * (number + 1)
    scheduler.set_dag("of_one", is_paused=False)
    assert runs(scheduler) == ["of_one", "of_two", "of_two"]
    extras = scheduler._select("SELECT extra FROM asset_event ORDER BY id")
    assert [row["extra"]["payload"]["number"] for row in extras] == [0, 0, 1, 1]


def test_a_watcher_ends_with_the_last_file_that_names_it_and_goes_on_if_one_does_again(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    asset = Asset("one", watchers=[AssetWatcher("inbox", FileDeleteTrigger("/inbox/go"))])
    watching(scheduler, "d", asset)
    watching(scheduler, "e", asset)
    watching(scheduler, "d", None)
    assert [row["cancelled_for"] for row in triggers_of(database)] == [None]
    with database.begin() as connection:
        store_watchers(connection, {}, {}, gone=["e"], now=clock.now())
    assert [row["cancelled_for"] for row in triggers_of(database)] == ["unwatched"]
    watching(scheduler, "d", asset)
    assert [row["cancelled_at"] for row in triggers_of(database)] == [None]


def test_teams_share_no_poll_since_each_has_connections_of_its_own(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    asset = Asset("one", watchers=[AssetWatcher("inbox", FileDeleteTrigger("/inbox/go"))])
    with database.begin() as connection:
        execute(connection, "INSERT INTO team (name, created_at) VALUES ('red', now()), ('blue', now())")
    for dag_id, team in (("d", None), ("e", None), ("r", "red"), ("s", "red"), ("b", "blue")):
        watching(scheduler, dag_id, None)
        scheduler.set_dag(dag_id, team=team)
        watching(scheduler, dag_id, asset)
    found = scheduler._select(
        """
        SELECT array_agg(DISTINCT trigger_asset.dag_id ORDER BY trigger_asset.dag_id) AS dags
        FROM trigger JOIN trigger_asset ON trigger_asset.trigger_id = trigger.id
        WHERE trigger.cancelled_at IS NULL GROUP BY trigger.id ORDER BY dags
        """
    )
    assert [row["dags"] for row in found] == [["b"], ["d", "e"], ["r", "s"]]


def test_a_dag_that_another_team_gets_is_polled_for_with_that_ones_connections(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    asset = Asset("one", watchers=[AssetWatcher("inbox", FileDeleteTrigger("/inbox/go"))])
    with database.begin() as connection:
        create_team(connection, "red", ["red"], now=clock.now())
    for dag_id in ("r", "s"):
        watching(scheduler, dag_id, None)
        scheduler.set_dag(dag_id, file=f"{dag_id}/it.py", team="red")
        watching(scheduler, dag_id, asset)
    with database.begin() as connection:
        create_team(connection, "blue", ["r"], now=clock.now())
        set_folders(connection, "red", ["s"], now=clock.now())
        set_variable(connection, "k", "of red", crypto=CRYPTO, team="red")
        set_variable(connection, "k", "of blue", crypto=CRYPTO, team="blue")
    by_hand = HandTriggerer(database, clock)
    by_hand.beat()
    with database.begin() as connection:
        asked: dict[str, Any] = {"op": "get_variable", "args": {"key": "k"}, "crypto": CRYPTO}
        told = {one: trigger_answers.answer(connection, **asked, asker=(one, by_hand.known)) for one in by_hand.held}
        linked = rows(connection, "SELECT dag_id, trigger_id FROM trigger_asset ORDER BY dag_id")
    assert [(row["dag_id"], told[row["trigger_id"]]) for row in linked] == [("r", "of blue"), ("s", "of red")]
    assert {row["id"] for row in triggers_of(database) if row["cancelled_for"] is None} == {
        row["trigger_id"] for row in linked
    }


def test_a_watcher_that_fails_is_told_of_until_it_works(
    database: Database, settings: Settings, clock: ManualClock
) -> None:
    scheduler = TestScheduler(database, settings, clock)
    watching(scheduler, "d", Asset("one", watchers=[AssetWatcher("inbox", FileDeleteTrigger("/inbox/go"))]))
    by_hand = HandTriggerer(database, clock)
    (trigger,) = by_hand.beat()

    def told() -> tuple[int, list[str]]:
        with database.begin() as connection:
            found = failing_watchers_of(connection, "d")
            return failing_watchers(connection), [with_troubles(WAITS, [one]).sentence for one in found]

    assert told() == (0, [])
    by_hand.fire({"id": trigger["id"], "kind": "trouble", "error": "no \0 broker"})
    why = "DAG 'd' waits; watcher 'inbox' of asset 'one' fails: no \N{REPLACEMENT CHARACTER} broker"
    assert told() == (1, [why])
    by_hand.fire({"id": trigger["id"], "kind": "well"})
    assert told() == (0, [])


def test_a_watched_file_makes_a_run_each_time_it_comes(database: Database, settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "go"
    with site(database, settings) as here:
        scheduler = TestScheduler(database, here.settings, SystemClock())  # type: ignore[arg-type]
        watcher = AssetWatcher("inbox", FileDeleteTrigger(str(path), poke_interval=0.02))
        watching(scheduler, "d", Asset("one", watchers=[watcher]))
        with here.triggerer():
            for number in range(1, 4):
                path.touch()
                wait_until(lambda number=number: len(runs(scheduler)) == number)  # type: ignore[misc]
                wait_until(lambda: not path.exists())
