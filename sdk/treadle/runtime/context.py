"""The context of an attempt: what templates, ``execute(context)`` and ``@task`` functions can ask for by name.

Values are made when they are first read, so an attempt pays only for what it uses: ``prev_*_success`` asks the
server, ``params`` merges, ``conn`` and ``var`` fetch one thing at a time. The keys follow airflow-surface section 3.
Keys that tell of the logical date are absent in a run that has none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final

from treadle import connections, variable
from treadle.errors import NotInTaskError
from treadle.params import merged_params
from treadle.runtime import current
from treadle.runtime.supervisor import Supervisor
from treadle.runtime.task_instance import DagRun, TaskInstance, moment

if TYPE_CHECKING:
    from treadle.dags import DAG

_NO_DEFAULT: Final = object()


class VariableAccessor:
    """``var.value.NAME`` and ``var.json.NAME``; ``.get(key, default)`` of either."""

    def __init__(self, deserialize_json: bool) -> None:
        self._deserialize_json = deserialize_json

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)
        return variable.Variable.get(key, deserialize_json=self._deserialize_json)

    def __getitem__(self, key: str) -> Any:
        return variable.Variable.get(key, deserialize_json=self._deserialize_json)

    def get(self, key: str, default: Any = _NO_DEFAULT) -> Any:
        """Return variable ``key``, or ``default`` if one is given and there is none."""
        if default is _NO_DEFAULT:
            return self[key]
        return variable.Variable.get(key, default, deserialize_json=self._deserialize_json)


class Variables:
    """``var``: ``var.value`` gives texts, ``var.json`` decoded JSON."""

    def __init__(self) -> None:
        self.value = VariableAccessor(deserialize_json=False)
        self.json = VariableAccessor(deserialize_json=True)


class ConnectionAccessor:
    """``conn.CONN_ID`` and ``conn.get(conn_id, default)``."""

    def __getattr__(self, conn_id: str) -> connections.Connection:
        if conn_id.startswith("__"):
            raise AttributeError(conn_id)
        return connections.Connection.get(conn_id)

    def __getitem__(self, conn_id: str) -> connections.Connection:
        return connections.Connection.get(conn_id)

    def get(self, conn_id: str, default_conn: Any = None) -> Any:
        """Return connection ``conn_id``, or ``default_conn`` if there is none."""
        return connections.find(conn_id) or default_conn


class Facts:
    """What the values of a context are made from."""

    __slots__ = ("dag", "dag_run", "previous_success", "supervisor", "test_mode", "ti")

    def __init__(self, dag: DAG, ti: TaskInstance, dag_run: DagRun, supervisor: Supervisor, test_mode: bool) -> None:
        self.dag = dag
        self.ti = ti
        self.dag_run = dag_run
        self.supervisor = supervisor
        self.test_mode = test_mode
        self.previous_success: Mapping[str, str | None] | None = None


class Context(MutableMapping[str, Any]):
    """Reads like a dict whose values are made on first access. User code may add keys of its own."""

    __slots__ = ("_facts", "_values")

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._values: dict[str, Any] = {"ti": facts.ti, "task_instance": facts.ti, "dag_run": facts.dag_run}
        facts.ti.context = self

    def __getitem__(self, key: str) -> Any:
        if key in self._values:
            return self._values[key]
        value = self._maker(key)(self._facts)
        self._values[key] = value
        return value

    def _maker(self, key: str) -> Callable[[Facts], Any]:
        maker = _MAKERS.get(key)
        if maker is None and self._facts.dag_run.logical_date is not None:
            maker = _DATED_MAKERS.get(key)
        if maker is None:
            raise KeyError(key)
        return maker

    def __setitem__(self, key: str, value: Any) -> None:
        self._values[key] = value

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __contains__(self, key: object) -> bool:
        return (
            key in self._values
            or key in _MAKERS
            or (key in _DATED_MAKERS and self._facts.dag_run.logical_date is not None)
        )

    def __iter__(self) -> Iterator[str]:
        yield from self._values
        makers = _MAKERS if self._facts.dag_run.logical_date is None else {**_MAKERS, **_DATED_MAKERS}
        yield from [key for key in makers if key not in self._values]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<Context of {self._facts.ti!r}>"


def get_current_context() -> Context:
    """Return the context of the task that this process runs.

    Raises:
        NotInTaskError: no task runs here.
    """
    found = current.context()
    if found is None:
        raise NotInTaskError("get_current_context()")
    return found  # type: ignore[no-any-return]


KEYS_ALWAYS_THERE: Final = frozenset({"ti", "task_instance", "dag_run"})


def context_keys() -> frozenset[str]:
    """Return every key that a context can have without user code adding it."""
    return (
        KEYS_ALWAYS_THERE | _MAKERS.keys() | _DATED_MAKERS.keys() | {"exception", "reason", "deadline", "transaction"}
    )


def _params(facts: Facts) -> dict[str, Any]:
    task = facts.ti.task
    merged = merged_params(facts.dag.params, task.params, facts.dag_run.conf)
    # The run's conf was checked against the DAG's params when the run was made; a task's own params only here.
    return merged.validate() if task.params else merged.dump()


def _previous_success(name: str) -> Callable[[Facts], Any]:
    def fetch(facts: Facts) -> Any:
        if facts.previous_success is None:
            facts.previous_success = facts.supervisor.get_previous_success()
        return moment(facts.previous_success.get(name))

    return fetch


def _instance_key(facts: Facts) -> str:
    date = facts.dag_run.logical_date
    return f"{facts.dag.dag_id}__{facts.ti.task_id}__{date.strftime('%Y%m%d') if date else facts.dag_run.run_id}"


def _asset_events() -> Any:
    # Loaded on need, as few tasks have to do with assets.
    return importlib.import_module("treadle.runtime.asset_events")


def _logical(form: Callable[[Any], Any]) -> Callable[[Facts], Any]:
    return lambda facts: form(facts.dag_run.logical_date)


_MAKERS: Final[Mapping[str, Callable[[Facts], Any]]] = {
    "dag": lambda facts: facts.dag,
    "task": lambda facts: facts.ti.task,
    "run_id": lambda facts: facts.dag_run.run_id,
    "try_number": lambda facts: facts.ti.try_number,
    "map_index_template": lambda facts: facts.ti.task.map_index_template,
    "params": _params,
    "conn": lambda _: ConnectionAccessor(),
    "var": lambda _: Variables(),
    # By name: the module brings in what templates may want, which few attempts do.
    "macros": lambda _: importlib.import_module("treadle.macros"),
    "task_instance_key_str": _instance_key,
    "templates_dict": lambda facts: getattr(facts.ti.task, "templates_dict", None),
    "test_mode": lambda facts: facts.test_mode,
    "inlets": lambda facts: facts.ti.task.inlets,
    "outlets": lambda facts: facts.ti.task.outlets,
    "inlet_events": lambda facts: _asset_events().InletEvents(facts.ti.task.inlets, facts.supervisor),
    "outlet_events": lambda facts: _asset_events().OutletEvents(facts.ti.task.outlets, facts.dag_run.partition_key),
    "triggering_asset_events": lambda facts: _asset_events().TriggeringAssetEvents(facts.supervisor),
    "partition_key": lambda facts: facts.dag_run.partition_key,
    "partition_date": lambda facts: facts.dag_run.partition_date,
    "prev_data_interval_start_success": _previous_success("data_interval_start"),
    "prev_data_interval_end_success": _previous_success("data_interval_end"),
    "prev_start_date_success": _previous_success("start_date"),
    "prev_end_date_success": _previous_success("end_date"),
}

_DATED_MAKERS: Final[Mapping[str, Callable[[Facts], Any]]] = {
    "logical_date": lambda facts: facts.dag_run.logical_date,
    "data_interval_start": lambda facts: facts.dag_run.data_interval_start,
    "data_interval_end": lambda facts: facts.dag_run.data_interval_end,
    "ds": _logical(lambda date: date.strftime("%Y-%m-%d")),
    "ds_nodash": _logical(lambda date: date.strftime("%Y%m%d")),
    "ts": _logical(lambda date: date.isoformat()),
    "ts_nodash": _logical(lambda date: date.strftime("%Y%m%dT%H%M%S")),
    "ts_nodash_with_tz": _logical(lambda date: date.isoformat().replace("-", "").replace(":", "")),
}
