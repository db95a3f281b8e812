"""Checks a run's ``conf`` against the params of its DAG, with the SDK's own JSON-schema check.

That check is loaded when a DAG with params is triggered, not before: jsonschema weighs 8 MB in every daemon.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from treadle.document import DagDocument
from treadle.errors import ParamError
from treadle.wording import did_you_mean
from treadle_metadata.errors import InvalidRequestError, shown


def checked_conf(document: DagDocument, conf: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``conf`` if every param of the DAG has a valid value with it.

    Raises:
        InvalidRequestError: a param has no value, or one that its schema refuses.
    """
    if not document.params:
        return conf
    check = importlib.import_module("treadle.param_validation").check
    for param in document.params:
        if param.name not in conf and not param.has_default:
            raise InvalidRequestError(
                f"param {shown(param.name)} of DAG {shown(document.dag_id)} has no default; give it in the conf"
            )
        try:
            check(param.name, param.schema, conf.get(param.name, param.value))
        except ParamError as error:
            raise InvalidRequestError(f"the conf does not suit DAG {shown(document.dag_id)}: {error}") from error
    return conf


def conf_warnings(document: DagDocument, conf: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each key of ``conf`` that is nearly the name of a param, but is none.

    Other keys than params are lawful, as in Airflow: a DAG may read them from ``dag_run.conf``.
    """
    names = [param.name for param in document.params]
    free = [name for name in names if name not in conf]
    found = []
    for key in conf if free else ():
        meant = "" if key in names else did_you_mean(key, free)
        if meant:
            found.append(
                f"{shown(key)} in the conf is no param of DAG {shown(document.dag_id)}{meant} "
                "The run keeps it, and the param has its default"
            )
    return found
