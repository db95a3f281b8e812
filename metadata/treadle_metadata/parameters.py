"""Checks a run's ``conf`` against the params of its DAG, as JSON schema. The SDK does the same in ``dag.test()``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema

from treadle.document import DagDocument
from treadle_metadata.errors import InvalidRequestError, shown


def checked_conf(document: DagDocument, conf: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``conf`` if every param of the DAG has a valid value with it.

    Raises:
        InvalidRequestError: a param has no value, or one that its schema refuses.
    """
    for param in document.params:
        if param.name not in conf and not param.has_default:
            raise InvalidRequestError(
                f"param {shown(param.name)} of DAG {shown(document.dag_id)} has no default; give it in the conf"
            )
        value = conf.get(param.name, param.value)
        try:
            jsonschema.validate(value, param.schema, format_checker=jsonschema.FormatChecker())
        except jsonschema.ValidationError as error:
            raise InvalidRequestError(
                f"param {shown(param.name)} of DAG {shown(document.dag_id)} is {shown(value)}: {error.message}"
            ) from error
    return conf
