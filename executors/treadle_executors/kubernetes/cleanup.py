"""Deletes pods that are over: those that were kept to be looked at, and those that no scheduler settled.

Called by ``treadle kubernetes cleanup-pods``, by hand or as a CronJob. A pod that runs or waits is never touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from treadle_executors.kubernetes import names
from treadle_executors.kubernetes.cluster import Cluster, Json
from treadle_executors.kubernetes.pod_state import PodView, view_of

_OVER = ("Succeeded", "Failed")


def finished_pods(cluster: Cluster, installation: str, *, before: datetime) -> Iterator[PodView]:
    """Yield the pods of an installation that are over and were made before ``before``.

    Raises:
        KubernetesError: the cluster cannot be reached, or refuses to list.
    """
    selector = f"{names.MANAGED_BY}=treadle,{names.INSTALLATION}={installation},{names.ATTEMPT}"
    for pod in cluster.list_pods(selector)[0]:
        view = view_of(pod)
        if view is not None and _phase(pod) in _OVER and view.created_at is not None and view.created_at < before:
            yield view


def clean_up(cluster: Cluster, installation: str, *, now: datetime, minutes: float, dry_run: bool) -> list[str]:
    """Delete finished pods that are older than ``minutes``; return their names. With ``dry_run`` delete none."""
    found = list(finished_pods(cluster, installation, before=now - timedelta(minutes=minutes)))
    for view in [] if dry_run else found:
        cluster.delete_pod(view.name, view.uid)
    return [view.name for view in found]


def _phase(pod: Json) -> object:
    status = pod.get("status")
    return status.get("phase") if isinstance(status, dict) else None
