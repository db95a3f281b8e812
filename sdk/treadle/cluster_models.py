"""Objects of the Kubernetes client, such as a ``V1Pod``, as the plain JSON that the cluster's API has.

Called when a DAG is serialized, for ``executor_config``. The client is not imported: its models say themselves which
attribute has which name in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Return ``value`` with every model in it as a dict; fields that are None are left out, as the client does."""
    names = getattr(type(value), "attribute_map", None)
    if isinstance(names, Mapping) and hasattr(type(value), "openapi_types"):
        fields = {json_name: getattr(value, name) for name, json_name in names.items()}
        return {name: plain(held) for name, held in fields.items() if held is not None}
    if isinstance(value, Mapping):
        return {key: plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    return value
