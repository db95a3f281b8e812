"""What a pod's status means for its attempt. Pure; whatever others wrote into a pod, nothing here raises for it.

A pod that is over is told apart by the cluster's own words: OOMKilled, Evicted, DeadlineExceeded, a preemption or a
drain, or an exit code. What ``treadle task run`` left as its last word says that the server knows the end already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from treadle_executors.kubernetes import names
from treadle_executors.kubernetes.merging import BASE
from treadle_executors.single.main import REPORTED
from treadle_metadata.identifiers import AttemptRef

_WAITS: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons of a waiting container that explain nothing."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A pod that will do nothing more. ``kind`` is that of the executor's event; None: the server knows already.

    ``lost`` is what the cluster did: an attempt that had not started is made again, free of charge. ``rejected`` is the
    attempt's own doing, or lasts: it is charged whether it had started or not, so that no pod is made for ever.
    """

    kind: Literal["lost", "rejected"] | None
    reason: str
    is_success: bool = False


@dataclass(frozen=True, slots=True)
class PodView:
    """What counts of a pod; thousands are held."""

    ref: AttemptRef
    name: str
    uid: str
    is_callback: bool
    created_at: datetime | None
    is_pending: bool
    waits_for: str
    """The cluster's reason for a pod that is pending; empty if it gives none."""
    ended: Ended | None
    is_leaving: bool
    """Whether it is being deleted."""


def view_of(pod: Any) -> PodView | None:
    """Return what counts of a pod; None if it is not one of ours, or not in order."""
    metadata = _dict(_dict(pod).get("metadata"))
    ref = names.ref_of(metadata)
    name, uid = metadata.get("name"), metadata.get("uid")
    if ref is None or not isinstance(name, str) or not isinstance(uid, str):
        return None
    status = _dict(_dict(pod).get("status"))
    is_pending = status.get("phase") in (None, "Pending")
    return PodView(
        ref=ref,
        name=name,
        uid=uid,
        is_callback=_dict(metadata.get("annotations")).get(names.SUBJECT) == "callback",
        created_at=_moment(metadata.get("creationTimestamp")),
        is_pending=is_pending,
        waits_for=_waits_for(status) if is_pending else "",
        ended=_ended(status),
        is_leaving=bool(metadata.get("deletionTimestamp")),
    )


def gone(view: PodView) -> Ended:
    """Return what it means that a pod is no more and was not seen to end."""
    if view.ended is not None:
        return view.ended
    return Ended("lost", f"pod {view.name} was deleted before its attempt was over")


def overdue(view: PodView, seconds: float) -> Ended:
    """Return how the attempt of a pod ends that has been pending for too long (case C10)."""
    why = view.waits_for or "the cluster gives no reason"
    return Ended("rejected", f"pod {view.name} was pending for {seconds:.0f} s: {why}")


def _ended(status: Mapping[str, Any]) -> Ended | None:
    phase, container = status.get("phase"), _container(status)
    terminated = _dict(_dict(container.get("state")).get("terminated"))
    word = str(terminated.get("message") or "")
    if word.startswith(REPORTED) and terminated:
        return Ended(None, word.strip(), terminated.get("exitCode") == 0)
    disruption = _disruption(status)
    if phase == "Failed":
        return _failure(status, terminated, disruption)
    if phase == "Succeeded":
        return Ended(
            "rejected",
            "its container ended with exit code 0 but the attempt was never reported: does the pod "
            "run another command than treadle task run?",
        )
    if disruption:
        return Ended("lost", disruption)
    return None


def _failure(status: Mapping[str, Any], terminated: Mapping[str, Any], disruption: str) -> Ended:
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    why = str(terminated.get("reason") or "")
    if why == "OOMKilled":
        return Ended("rejected", _sentence("OOMKilled", "the container used more memory than its limit and was killed"))
    if reason == "DeadlineExceeded":
        return Ended("rejected", _sentence(reason, message or "the pod was active for longer than it may be"))
    if reason:
        return Ended("lost", _sentence(reason, message))
    if disruption:
        return Ended("lost", disruption)
    code = terminated.get("exitCode")
    if why in ("ContainerCannotRun", "StartError"):
        return Ended("rejected", _sentence(why, str(terminated.get("message") or "")))
    if code in (137, 143):
        return Ended("lost", f"the container was ended by signal {int(code) - 128}, by whom is not known")
    return Ended("rejected", f"the container ended with exit code {code} without having reported the attempt's end")


def _disruption(status: Mapping[str, Any]) -> str:
    """Return why the cluster is taking the pod away: a drain, a preemption, a lost node."""
    for one in _list(status.get("conditions")):
        if one.get("type") == "DisruptionTarget" and one.get("status") == "True":
            return _sentence(str(one.get("reason") or "DisruptionTarget"), str(one.get("message") or ""))
    return ""


def _waits_for(status: Mapping[str, Any]) -> str:
    container = _container(status)
    waiting = _dict(_dict(container.get("state")).get("waiting"))
    reason = str(waiting.get("reason") or "")
    if reason not in _WAITS:
        return _sentence(reason, str(waiting.get("message") or ""))
    for one in _list(status.get("conditions")):
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return _sentence(str(one.get("reason") or "Unschedulable"), str(one.get("message") or ""))
    return reason


def _container(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the status of the container ``base``, or of the one that holds it up."""
    for one in _list(status.get("initContainerStatuses")):
        state = _dict(one.get("state"))
        if "running" not in state and _dict(state.get("terminated")).get("exitCode", 1) != 0:
            return one
    found = _list(status.get("containerStatuses"))
    return next((one for one in found if one.get("name") == BASE), {})


def _sentence(word: str, message: str) -> str:
    return f"{word}: {message}".rstrip(": ")[:1000]


def _moment(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
