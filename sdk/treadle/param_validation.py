"""JSON-schema checks of params. The only module of the SDK that loads jsonschema; loaded when a schema is checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError, best_match

from treadle.errors import ParamError

_FORMATS = FormatChecker()


@_FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@_FORMATS.checks("time", raises=ValueError)
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or time.fromisoformat(value) is not None


def check(name: str, schema: Mapping[str, Any], value: Any) -> None:
    """Check ``value`` of the param ``name`` against ``schema``.

    Raises:
        ParamError: it does not fit (says where and why), or the schema itself is broken.
    """
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ParamError(name, f"its JSON schema is wrong: {error.message}") from None
    fault: ValidationError | None = best_match(Draft202012Validator(schema, format_checker=_FORMATS).iter_errors(value))
    if fault is not None:
        where = "".join(f"[{part!r}]" for part in fault.absolute_path)
        raise ParamError(name, f"{where + ': ' if where else ''}{_shortened(fault.message)}")


def _shortened(text: str, most: int = 300) -> str:
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 3 :]}"
