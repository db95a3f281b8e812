"""The history of all moves, kept by the database itself while ``record_transitions`` is on.

A trigger appends every change of a state column to ``state_transition``, whoever made it, and refuses a move that the
dictionaries of ``states`` do not have. It is off in ordinary production: it costs a row for each move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, text

from treadle_metadata.states import RUN_MOVES, TASK_MOVES

_FUNCTION: Final = """
CREATE OR REPLACE FUNCTION treadle_record_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (TG_ARGV[1]::jsonb -> OLD.state) ? NEW.state THEN
        RAISE EXCEPTION 'unlawful move of % % from % to %', TG_ARGV[0], NEW.id, OLD.state, NEW.state;
    END IF;
    INSERT INTO state_transition (entity, entity_id, old_state, new_state, attempt_id, moved_at)
    VALUES (TG_ARGV[0], NEW.id, OLD.state, NEW.state,
            (to_jsonb(NEW) ->> 'attempt_id')::uuid, clock_timestamp());
    RETURN NULL;
END $$
"""

_TABLES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "dag_run": {str(old): frozenset(map(str, new)) for old, new in RUN_MOVES.items()},
    "task_instance": {str(old): frozenset(map(str, new)) for old, new in TASK_MOVES.items()},
}


def set_recording(connection: Connection, *, on: bool) -> None:
    """Turn the recording of moves on or off for the whole database."""
    if on:
        connection.execute(text(_FUNCTION))
    for table, moves in _TABLES.items():
        if not on:
            _turn_off(connection, table)
            continue
        lawful = "{" + ", ".join(f'"{old}": [{", ".join(_quoted(new))}]' for old, new in sorted(moves.items())) + "}"
        connection.exec_driver_sql(
            f"CREATE OR REPLACE TRIGGER record_moves AFTER UPDATE OF state ON {table} FOR EACH ROW "
            f"WHEN (OLD.state IS DISTINCT FROM NEW.state) "
            f"EXECUTE FUNCTION treadle_record_move('{table}', '{lawful}')"
        )


def _turn_off(connection: Connection, table: str) -> None:
    """Drop the trigger if it is there: a DROP that finds nothing would still lock the whole table."""
    there = "SELECT FROM pg_trigger WHERE tgrelid = to_regclass(:table) AND tgname = 'record_moves'"
    if connection.execute(text(there), {"table": table}).first() is not None:
        connection.execute(text(f"DROP TRIGGER record_moves ON {table}"))


def _quoted(states: frozenset[str]) -> list[str]:
    return [f'"{state}"' for state in sorted(states)]
