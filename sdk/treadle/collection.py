"""Which DAGs a file defines: those in its global names, and those whose ``with`` block was opened in it.

The DAG processor and the task runtime call :func:`collect` right after they have run a file.
"""

from __future__ import annotations

from collections.abc import Iterable

from treadle.authoring import reset, take_registered
from treadle.dags import DAG
from treadle.errors import DuplicateIdError


def begin() -> None:
    """Forget what files run before in this process have left: their DAGs, and ``with`` blocks never closed."""
    reset()


def collect(names: Iterable[object]) -> list[DAG]:
    """Return the DAGs of a file whose global values are ``names``, in definition order, each once.

    Raises:
        DuplicateIdError: two DAGs have one id.
    """
    found: dict[str, DAG] = {}
    for dag in [*take_registered(), *(one for one in names if isinstance(one, DAG))]:
        known = found.setdefault(dag.dag_id, dag)
        if known is not dag:
            raise DuplicateIdError("DAG", dag.dag_id, "this file", first=known.site, site=dag.site)
    return list(found.values())
