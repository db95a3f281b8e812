"""The links that attempts report: kept with the attempt that made them, whatever it came to.

``execution.record_finishes`` writes them in the transaction that records the end, ``queries.task_instances`` reads
them. They are columns of the attempt, not XComs: whoever may see an instance sees its links, no task reads them, and
each try keeps its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

from sqlalchemy import Connection

from treadle.operator_links import lawful
from treadle_metadata.statements import execute


def keep(
    connection: Connection, reports: Sequence[Mapping[str, Any]], accepted: Collection[str], *, month: date
) -> None:
    """Store the links of those ``reports`` whose attempts are ``accepted``; few have any, and then it is one statement.

    What a worker reports is looked at again: a page shows these addresses to people.
    """
    found = {one["attempt_id"]: lawful(one["links"]) for one in reports if one.get("links")}
    found = {attempt_id: links for attempt_id, links in found.items() if links and attempt_id in accepted}
    if found:
        execute(
            connection,
            """
            UPDATE task_attempt AS attempt SET links = report.links
            FROM unnest(%(attempt_ids)s::uuid[], %(links)s::jsonb[]) AS report (attempt_id, links)
            WHERE attempt.attempt_id = report.attempt_id AND attempt.month = %(month)s
            """,
            {"attempt_ids": list(found), "links": [json.dumps(one) for one in found.values()], "month": month},
        )
