"""Answers the questions of triggers: connections, variables, and how other tasks and runs stand.

Called by the Execution API. Triggers run users' code without a database, as tasks do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from treadle_metadata.crypto import Crypto
from treadle_metadata.errors import InvalidRequestError
from treadle_metadata.resources import find_connection, find_variable
from treadle_metadata.statements import tuples
from treadle_metadata.waits import states_of

# Of a deferred task's or a callback's DAG; of a watcher the team that its poll is for, which is a part of its key
# (``assets.watchers``): the DAG whose file it came from may be gone, or another team's by now.
_TEAM: Final = """
    SELECT CASE WHEN trigger.shared_key IS NULL THEN coalesce(dag.team, '') ELSE substr(trigger.shared_key, 66) END,
           trigger.owner
    FROM trigger
    LEFT JOIN task_instance AS instance ON instance.id = trigger.task_instance_id AND instance.month = trigger.month
    LEFT JOIN dag_version AS version ON version.id = trigger.version_id
    LEFT JOIN dag ON dag.dag_id = coalesce(instance.dag_id, version.dag_id)
    WHERE trigger.id = %(id)s AND (dag.dag_id IS NOT NULL OR trigger.shared_key IS NOT NULL)
"""
# Another team's DAG does not exist for a trigger, as for a task (``waits``).
_RUN_STATES: Final = """
    SELECT run_id, state FROM dag_run
    WHERE dag_id = %(dag_id)s AND run_id = ANY(%(run_ids)s)
      AND EXISTS (SELECT FROM dag WHERE dag.dag_id = dag_run.dag_id AND coalesce(dag.team, '') IN ('', %(team)s))
"""


def answer(
    connection: Connection,
    op: str,
    args: Mapping[str, Any],
    *,
    crypto: Crypto,
    asker: tuple[int, UUID] | None = None,
) -> Any:
    """Answer one question of a trigger, which finds its DAG's team's connections and variables before everybody's.

    ``asker``: the trigger (0: none in particular, which finds what is everybody's) and the triggerer that asks for it.

    Raises:
        InvalidRequestError: the question is unknown, or lacks something, or that triggerer does not run the trigger.
    """
    team = _team(connection, asker)
    try:
        match op:
            case "get_connection":
                return find_connection(connection, str(args["conn_id"]), crypto=crypto, team=team)
            case "get_variable":
                return find_variable(connection, str(args["key"]), crypto=crypto, team=team)
            case "get_states":
                return states_of(connection, args, team=team)
            case "get_run_states":
                runs = [str(one) for one in args["run_ids"]]
                asked = {"dag_id": str(args["dag_id"]), "run_ids": runs, "team": team}
                return {row[0]: row[1] for row in tuples(connection, _RUN_STATES, asked)}
    except KeyError as error:
        raise InvalidRequestError(f"the question {op!r} of a trigger lacks {error}") from error
    raise InvalidRequestError(f"a trigger asked for {op!r}, which this server does not know")


def _team(connection: Connection, asker: tuple[int, UUID] | None) -> str:
    trigger, triggerer = asker or (0, None)
    if not trigger:
        return ""
    found = tuples(connection, _TEAM, {"id": trigger})
    # One that is gone has no team any more: what bears the same name and is everybody's is not what it asks for.
    if not found:
        raise InvalidRequestError(f"trigger {trigger} is over, or its DAG is gone: it can ask for nothing any more")
    team, owner = found[0]
    if owner != triggerer:
        # Users' code says for which trigger it asks: what another triggerer's may know is none of its business.
        runs = "no triggerer" if owner is None else "another triggerer"
        raise InvalidRequestError(f"trigger {trigger} is run by {runs}, so this triggerer cannot ask for it")
    return str(team)
