"""Forgetting old events of assets, in small transactions. Called by ``treadle db clean`` once old runs are gone.

An event goes when it is older than a date, no consumer waits with it and no run that is there was made of it. The
newest event of an asset stays, since it tells when the asset was last updated. Cut off, the next call goes on.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final, LiteralString

from sqlalchemy import Connection

from treadle_metadata.connection import Database
from treadle_metadata.statements import tuples

BATCH: Final = 2_000
"""Events that are looked at in a transaction."""

_MAY_GO: Final[LiteralString] = """
    happened_at < %(before)s
    AND NOT EXISTS (SELECT FROM asset_run_queue AS queued WHERE queued.event_id = event.id)
    AND NOT EXISTS (SELECT FROM dag_run_asset_event AS used WHERE used.event_id = event.id)
    AND EXISTS (SELECT FROM asset_event AS newer WHERE newer.asset_id = event.asset_id AND newer.id > event.id)
"""

_COUNT: Final = f"SELECT count(*) FROM asset_event AS event WHERE {_MAY_GO}"

_FORGET: Final = f"""
    WITH looked_at AS (
        SELECT id FROM asset_event WHERE id > %(after)s AND happened_at < %(before)s ORDER BY id LIMIT %(batch)s
    ), gone AS (
        DELETE FROM asset_event AS event USING looked_at WHERE event.id = looked_at.id AND {_MAY_GO}
        RETURNING event.id
    ), through_aliases AS (
        DELETE FROM asset_alias_event AS told USING gone WHERE told.event_id = gone.id
    )
    SELECT max(id), (SELECT count(*) FROM gone) FROM looked_at
"""


def count(connection: Connection, before: datetime) -> int:
    """Return how many events would go now; more may once their runs are gone."""
    ((number,),) = tuples(connection, _COUNT, {"before": before})
    return int(number)


def forget(database: Database, before: datetime) -> int:
    """Delete the events older than ``before`` that nothing needs; return how many there were."""
    after, gone = 0, 0
    while True:
        parameters = {"after": after, "before": before, "batch": BATCH}
        ((newest, number),) = database.run(partial(tuples, sql=_FORGET, parameters=parameters))
        if newest is None:
            return gone
        after, gone = newest, gone + number
