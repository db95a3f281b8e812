"""Who may do what: accounts, roles, teams with their folders and members, grants of single DAGs, sessions, API tokens.

Read on each request (``treadle_metadata.rights``), so that every change counts at once. Secrets of sessions and tokens
are stored as SHA-256 only: they are random, so that nothing slower is needed.
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from treadle_metadata.tables.base import metadata, moment

account = Table(
    "account",
    metadata,
    Column("username", Text, primary_key=True),
    # NULL: may log in through the identity provider only.
    Column("password_hash", Text),
    # What it may do everywhere: a built-in role or one of ``role``.
    Column("role", Text, nullable=False),
    Column("is_active", Boolean, nullable=False, server_default=text("true")),
    # Issuer and subject at the identity provider, which never change there, as names and addresses may.
    Column("identity", Text, unique=True),
    moment("created_at", required=True),
    moment("last_login_at"),
)

role = Table(
    "role",
    metadata,
    Column("name", Text, primary_key=True),
    Column("description", Text, nullable=False, server_default=text("''")),
    Column("permissions", ARRAY(Text), nullable=False),
    moment("created_at", required=True),
)

team = Table(
    "team",
    metadata,
    Column("name", Text, primary_key=True),
    Column("description", Text, nullable=False, server_default=text("''")),
    moment("created_at", required=True),
)

# Whoever may put files into a folder owns what they define: a DAG cannot say itself whose it is.
team_folder = Table(
    "team_folder",
    metadata,
    Column("folder", Text, primary_key=True),
    Column("team", Text, ForeignKey("team.name", ondelete="CASCADE"), nullable=False),
)

team_member = Table(
    "team_member",
    metadata,
    Column("username", Text, ForeignKey("account.username", ondelete="CASCADE"), primary_key=True),
    Column("team", Text, ForeignKey("team.name", ondelete="CASCADE"), primary_key=True),
    # What the account may do with what is the team's.
    Column("role", Text, nullable=False),
    Index("team_member_of_team", "team"),
)

# What one account, or each member of one team, may do with one DAG beside what their roles say. No foreign key to the
# DAG: a grant may be there before the file is read.
dag_grant = Table(
    "dag_grant",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_id", Text, nullable=False),
    Column("username", Text, ForeignKey("account.username", ondelete="CASCADE")),
    Column("team", Text, ForeignKey("team.name", ondelete="CASCADE")),
    Column("permissions", ARRAY(Text), nullable=False),
    moment("created_at", required=True),
    CheckConstraint("(username IS NULL) <> (team IS NULL)", name="one_holder"),
    UniqueConstraint("username", "dag_id"),
    UniqueConstraint("team", "dag_id"),
)

login_session = Table(
    "login_session",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("secret_hash", Text, nullable=False, unique=True),
    Column("username", Text, ForeignKey("account.username", ondelete="CASCADE"), nullable=False),
    # Whether a browser holds it, in a cookie: its writes need the CSRF token as well.
    Column("in_browser", Boolean, nullable=False),
    Column("address", Text, nullable=False, server_default=text("''")),
    Column("user_agent", Text, nullable=False, server_default=text("''")),
    moment("created_at", required=True),
    moment("expires_at", required=True),
    Index("login_session_of_account", "username"),
    Index("login_session_to_forget", "expires_at"),
)

api_token = Table(
    "api_token",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("secret_hash", Text, nullable=False, unique=True),
    Column("username", Text, ForeignKey("account.username", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    # What it may be used for at most; NULL: all that its account may do.
    Column("scopes", ARRAY(Text)),
    moment("created_at", required=True),
    moment("expires_at", required=True),
    moment("last_used_at"),
    UniqueConstraint("username", "name"),
)

# Guesses of the last minute; of whose name, only its hash.
failed_login = Table(
    "failed_login",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("address", Text, nullable=False),
    Column("name", Text, nullable=False),
    moment("failed_at", required=True),
    Index("failed_login_of_address", "address", "failed_at"),
    Index("failed_login_to_forget", "failed_at"),
)
