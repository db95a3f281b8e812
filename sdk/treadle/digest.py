"""The digest that names a version of a DAG: the same text from the same definition, whoever computes it.

The DAG processor compares it with the stored version; benchmarks and tests use it to store documents. In a module of
its own because the hash functions cost every worker process some megabytes that only the processor needs. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from treadle.document import DagDocument, Json, to_json


def digest(document: DagDocument) -> str:
    """Return the SHA-256 hex digest that names the version of ``document``; line numbers do not count."""
    return digest_of(to_json(document))


def digest_of(plain: Mapping[str, Json]) -> str:
    """Return the digest of a document's plain form (:func:`to_json`)."""
    counted = {name: value for name, value in plain.items() if name != "line"}
    if "tasks" in counted:
        counted["tasks"] = [{name: task[name] for name in task if name != "line"} for task in counted["tasks"]]
    text = json.dumps(counted, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
