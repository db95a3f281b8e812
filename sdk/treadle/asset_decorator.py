"""``@asset``: a function that makes a piece of data becomes an asset, with a DAG of one task that updates it.

``@asset.multi`` makes several assets in one task. The DAG is registered as one under ``with DAG`` is, so that the
file's DAGs include it (airflow-surface 1.6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from treadle.assets import Asset, AssetAlias, AssetAll, AssetRef, NamedAsset
from treadle.callables import Parameters, docstring, plain_function
from treadle.dags import DAG
from treadle.errors import DagError, UnknownArgumentError
from treadle.operators.python import PythonOperator

OWN_NAMES: Final = frozenset({"self", "context", "outlet_events"})
"""Parameters of the function that are no inlets: the asset itself, the context, and what is said of the outlets."""

DAG_ARGUMENTS: Final = frozenset(
    {"dag_display_name", "description", "params", "is_paused_upon_creation", "tags", "start_date", "default_args"}
)


class AssetOperator(PythonOperator):
    """The task of an ``@asset``: calls the function with what its parameters name."""

    custom_operator_name = "@asset"

    def __init__(self, *, parameters: Sequence[str], asset: Any, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.parameters = tuple(parameters)
        self.asset = asset

    def call(self, context: Mapping[str, Any]) -> Any:
        """Call the function: inlets by their names, as assets with what is known of them."""
        self.op_kwargs = {name: self._argument(name, context) for name in self.parameters}
        return super().call(context)

    def _argument(self, name: str, context: Mapping[str, Any]) -> Any:
        if name == "self":
            return self.asset
        if name == "context":
            return context
        return context["outlet_events"] if name == "outlet_events" else context["inlet_events"].asset(name)


class AssetDefinition(Asset):
    """An asset that a function makes. Its DAG is ``dag``, the plain function ``function``."""

    def __init__(self, function: Callable[..., Any], schedule: Any, given: Mapping[str, Any]) -> None:
        own = {key: given[key] for key in ("uri", "group", "extra") if key in given}
        super().__init__(given.get("name") or function.__name__, **own)
        self.function = function
        self.dag = _dag_of(function, schedule, given, self, [self], given.get("name") or function.__name__)


class MultiAssetDefinition(AssetAll):
    """Several assets that one function makes; as a schedule it waits for all of them."""

    def __init__(self, function: Callable[..., Any], schedule: Any, given: Mapping[str, Any]) -> None:
        outlets = given.get("outlets") or ()
        super().__init__(*outlets)
        self.function = function
        self.dag = _dag_of(function, schedule, given, self, list(outlets), given.get("name") or function.__name__)


def _dag_of(
    function: Callable[..., Any],
    schedule: Any,
    given: Mapping[str, Any],
    asset: Any,
    outlets: Sequence[NamedAsset | AssetAlias],
    name: str,
) -> DAG:
    """Return the DAG of one task that calls ``function``; its required parameters are the assets it reads."""
    plain = plain_function(function)
    if plain is None:
        raise DagError(f"@asset decorates functions, not {type(function).__name__}; arguments are given by name")
    parameters = [one for one in Parameters(plain).names if one in OWN_NAMES or one in Parameters(plain).required]
    site = (plain.__code__.co_filename, plain.__code__.co_firstlineno)
    arguments = {key: value for key, value in given.items() if key in DAG_ARGUMENTS}
    with DAG(given.get("dag_id") or name, schedule=schedule, doc_md=docstring(function), **arguments) as dag:
        dag.fileloc, dag.line = site
        AssetOperator(
            task_id=function.__name__,
            python_callable=function,
            parameters=parameters,
            asset=asset,
            inlets=[AssetRef("asset", one) for one in parameters if one not in OWN_NAMES],
            outlets=list(outlets),
        )
    return dag


class AssetDecorator:
    """``@asset(schedule=...)``, and ``@asset.multi(schedule=..., outlets=[...])``."""

    _NAMES: Final = DAG_ARGUMENTS | {"name", "uri", "group", "extra", "dag_id"}

    def __call__(self, *, schedule: Any, **arguments: Any) -> Callable[[Callable[..., Any]], AssetDefinition]:
        """Make the function an asset of its name, updated by a DAG of its name.

        Takes ``name``, ``uri``, ``group`` and ``extra`` of the asset, and ``dag_id``, ``dag_display_name``,
        ``description``, ``params``, ``is_paused_upon_creation``, ``tags``, ``start_date`` and ``default_args`` of the
        DAG. The function's parameters without a default name the assets that it reads; ``self`` is the asset,
        ``context`` the task's context, ``outlet_events`` what is said of the update.

        Raises:
            DagError: an argument is unknown or cannot be used.
        """
        self._check(arguments, self._NAMES, "@asset")
        return lambda function: AssetDefinition(function, schedule, arguments)

    def multi(
        self, *, schedule: Any, outlets: Sequence[NamedAsset], **arguments: Any
    ) -> Callable[[Callable[..., Any]], MultiAssetDefinition]:
        """Make the function a DAG of one task that updates several assets."""
        self._check(arguments, self._NAMES - {"uri", "group", "extra"}, "@asset.multi")
        return lambda function: MultiAssetDefinition(function, schedule, {**arguments, "outlets": outlets})

    @staticmethod
    def _check(arguments: Mapping[str, Any], known: frozenset[str], owner: str) -> None:
        for name in arguments.keys() - known:
            raise UnknownArgumentError(owner, name, known)


asset = AssetDecorator()
"""Decorator: the function makes an asset."""
