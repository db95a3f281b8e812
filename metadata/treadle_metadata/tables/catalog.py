"""What the DAG processor writes: DAGs, their versions, their files, and what is wrong with them."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Computed,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from treadle_metadata.tables.base import metadata, moment

dag = Table(
    "dag",
    metadata,
    Column("dag_id", Text, primary_key=True),
    Column("file", Text, nullable=False),
    # The team that owns the file's folder; NULL: nobody's.
    Column("team", Text),
    Column("version_id", BigInteger, ForeignKey("dag_version.id", use_alter=True)),
    Column("is_paused", Boolean, nullable=False),
    Column("is_active", Boolean, nullable=False, server_default=text("true")),
    Column("has_import_errors", Boolean, nullable=False, server_default=text("false")),
    Column("display_name", Text),
    Column("description", Text),
    Column("owners", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("tags", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("schedule_summary", Text),
    Column("max_active_runs", Integer),
    Column("max_active_tasks", Integer),
    # Whether a task waits for the run before: runs of such a DAG start in the order of their logical dates.
    Column("waits_for_past", Boolean, nullable=False, server_default=text("false")),
    # The newest automated run's interval: the timetable counts on from here, whatever was planned before a pause.
    moment("last_interval_start"),
    moment("last_interval_end"),
    moment("next_run_at"),
    moment("next_logical_date"),
    moment("next_interval_start"),
    moment("next_interval_end"),
    Column("at_run_limit", Boolean, nullable=False, server_default=text("false")),
    # When it was last unpaused; NULL: never, so that its creation counts. What "catchup=none" does not go behind.
    moment("resumed_at"),
    # Since when a due run waits for the run limit: such a run is not late.
    moment("held_since"),
    # The most runs under way that its timetable allows, whatever the DAG says; NULL: any number.
    Column("schedule_run_limit", Integer),
    moment("last_parsed_at"),
    Column("parse_seconds", Float),
    moment("created_at", required=True),
    # The scheduler asks each beat which DAGs are due; paused and blocked ones must cost nothing.
    Index(
        "dag_due_for_run",
        "next_run_at",
        postgresql_where=text("NOT is_paused AND is_active AND NOT at_run_limit"),
    ),
    Index("dag_held_back", "dag_id", postgresql_where=text("at_run_limit")),
    Index("dag_in_file", "file"),
    Index("dag_of_team", "team", postgresql_where=text("team IS NOT NULL")),
)

dag_version = Table(
    "dag_version",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_id", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("hash", Text, nullable=False),
    Column("document", JSONB, nullable=False),
    # The newest text of its file. Texts of one structure follow one another in one version (dag_version_code).
    Column("file_hash", Text, nullable=False),
    moment("created_at", required=True),
    # Parts of the document that every run's beginning and end ask for: NULL for nearly all, and never a large value.
    Column("callbacks", JSONB, Computed("document -> 'callbacks'::text", persisted=True)),
    Column("deadlines", JSONB, Computed("document -> 'deadlines'::text", persisted=True)),
    # What lists of DAGs show of it: a large document is read and unpacked for each row of a page, else.
    Column("schedule_kind", Text, Computed("document #>> '{schedule,kind}'::text[]", persisted=True)),
    Column(
        "has_task_limits",
        Boolean,
        Computed(
            """document @? '$."tasks"[*]?(exists (@."max_active_tis_per_dag")"""
            """ || exists (@."max_active_tis_per_dagrun"))'::jsonpath""",
            persisted=True,
        ),
    ),
    Column(
        "is_partitioned",
        Boolean,
        Computed(
            "(document -> 'schedule'::text) ?| ARRAY['partitions'::text, 'partition_key_format'::text]", persisted=True
        ),
    ),
    UniqueConstraint("dag_id", "number"),
)

# Every text that a DAG file has had, by its SHA-256: the file of a hundred DAGs is stored once, not a hundred times.
dag_code = Table(
    "dag_code",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("source", Text, nullable=False),
    moment("stored_at", required=True),
)

dag_version_code = Table(
    "dag_version_code",
    metadata,
    Column("version_id", BigInteger, ForeignKey("dag_version.id"), primary_key=True),
    Column("hash", Text, ForeignKey("dag_code.hash"), primary_key=True),
    moment("since", required=True),
    Index("dag_version_code_of_code", "hash"),
)

dag_file = Table(
    "dag_file",
    metadata,
    Column("file", Text, primary_key=True),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    moment("parsed_at", required=True),
    Column("parse_seconds", Float, nullable=False),
    # What else the file's meaning depends on: the modules and data files it read, and the version that parsed it.
    Column("inputs", JSONB, nullable=False, server_default=text("'{}'")),
)

import_error = Table(
    "import_error",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("file", Text, nullable=False, unique=True),
    Column("line", Integer),
    Column("message", Text, nullable=False),
    Column("stacktrace", Text, nullable=False),
    moment("occurred_at", required=True),
)

dag_warning = Table(
    "dag_warning",
    metadata,
    Column("dag_id", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("message", Text, nullable=False),
    moment("noticed_at", required=True),
)
