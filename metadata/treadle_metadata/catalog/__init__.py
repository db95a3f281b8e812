"""What the DAG processor stores: DAGs, their versions, their files, and what is wrong with them.

``parsed`` holds the plain values that a parse gives, ``decisions`` and ``versioning`` decide purely what is to be
stored, ``storing`` writes it in sets. The DAG processor is the only caller.
"""

from __future__ import annotations

from treadle_metadata.catalog.parsed import DagWarning, FileError, FileState, ParsedDag, ParsedFile
from treadle_metadata.catalog.storing import Catalog, Outcome, load_catalog, store_parsed

__all__ = [
    "Catalog",
    "DagWarning",
    "FileError",
    "FileState",
    "Outcome",
    "ParsedDag",
    "ParsedFile",
    "load_catalog",
    "store_parsed",
]
