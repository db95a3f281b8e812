"""What a pod's status means, whatever stands in it; names of pods; the gate; the options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle_executors.conformance import make_workload
from treadle_executors.kubernetes import names
from treadle_executors.kubernetes.errors import KubernetesError, PodRefused
from treadle_executors.kubernetes.gate import Gate
from treadle_executors.kubernetes.options import Options, load_options
from treadle_executors.kubernetes.pod_state import Ended, view_of
from treadle_executors.kubernetes.pods import PodMaker
from treadle_metadata.settings import Settings

WORKLOAD = make_workload("quick")
METADATA: dict[str, Any] = {
    "name": names.pod_name(WORKLOAD),
    "uid": "u",
    "labels": names.labels_of(WORKLOAD, "treadle"),
    "annotations": names.annotations_of(WORKLOAD),
}


def ended(**status: Any) -> Ended | None:
    """Return how a pod with this status has ended."""
    view = view_of({"metadata": METADATA, "status": status})
    assert view is not None
    return view.ended


def terminated(code: int, reason: str = "Error", message: str = "") -> dict[str, Any]:
    """Return the status of a container that is over."""
    state = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
    return {"containerStatuses": [{"name": "base", "state": state}]}


@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [
        ({"phase": "Failed", **terminated(137, "OOMKilled")}, "rejected", "OOMKilled"),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "lost", "Evicted: low on memory"),
        ({"phase": "Failed", "reason": "DeadlineExceeded", **terminated(143)}, "rejected", "DeadlineExceeded"),
        ({"phase": "Failed", "reason": "NodeLost"}, "lost", "NodeLost"),
        ({"phase": "Failed", **terminated(137)}, "lost", "signal 9"),
        ({"phase": "Failed", **terminated(2)}, "rejected", "exit code 2"),
        ({"phase": "Failed", **terminated(128, "StartError", "exec: no such file")}, "rejected", "StartError: exec"),
        ({"phase": "Succeeded", **terminated(0, "Completed")}, "rejected", "never reported"),
        (
            {
                "phase": "Running",
                "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}],
            },
            "lost",
            "PreemptionByScheduler",
        ),
    ],
)
def test_ends_are_told_apart(status: dict[str, Any], kind: str, word: str) -> None:
    end = ended(**status)
    assert end is not None
    assert end.kind == kind
    assert word in end.reason


def test_an_end_that_the_server_knows_is_no_news() -> None:
    good = ended(phase="Succeeded", **terminated(0, "Completed", "treadle: reported success\n"))
    bad = ended(phase="Failed", **terminated(1, "Error", "treadle: reported failed\n"))
    assert (good, bad) == (Ended(None, "treadle: reported success", True), Ended(None, "treadle: reported failed"))


def test_a_pod_that_runs_has_not_ended() -> None:
    assert ended(phase="Running", containerStatuses=[{"name": "base", "state": {"running": {}}}]) is None
    assert ended() is None


def test_what_holds_up_a_pending_pod_is_told() -> None:
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}
    init = {"waiting": {"reason": "CrashLoopBackOff", "message": "init"}}
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}
    for status, words in (
        ({"containerStatuses": [{"name": "base", "state": waiting}]}, "ErrImagePull: no such image"),
        ({"initContainerStatuses": [{"name": "i", "state": init}]}, "CrashLoopBackOff: init"),
        ({"conditions": [unschedulable]}, "Unschedulable: no node"),
        ({}, ""),
    ):
        view = view_of({"metadata": METADATA, "status": {"phase": "Pending", **status}})
        assert view is not None
        assert (view.is_pending, view.waits_for) == (True, words)


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
KEYS = ("phase", "reason", "message", "conditions", "containerStatuses", "initContainerStatuses")


@given(metadata=junk, status=junk | st.dictionaries(st.sampled_from(KEYS), junk))
def test_no_pod_of_others_raises(metadata: Any, status: Any) -> None:
    view_of({"metadata": metadata, "status": status})
    view_of({"metadata": METADATA, "status": status})


@given(dag_id=st.text(min_size=1, max_size=200), task_id=st.text(min_size=1, max_size=200))
def test_names_are_dns_labels_and_end_with_the_attempt(dag_id: str, task_id: str) -> None:
    attempt = str(uuid4())
    name = names.pod_name(make_workload(task_id, dag_id=dag_id, attempt_id=attempt))
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name)
    assert name.endswith(attempt.replace("-", ""))


def test_a_closed_gate_opens_for_one_at_a_time_after_pauses_that_grow() -> None:
    now = [100.0]
    gate = Gate(4, 1.0, 8.0, now=lambda: now[0])
    assert [gate.enter() for _ in range(4)] == [0.0] * 4
    assert gate.enter() > 0
    for _ in range(4):
        gate.refused(None)
    pauses = []
    for _ in range(6):
        pause = gate.enter()
        pauses.append(pause)
        now[0] += pause
        assert gate.enter() == 0.0
        assert gate.enter() > 0, "a second one was let in"
        gate.refused(None)
    assert all(0.5 * 2**n <= pause <= 2**n for n, pause in zip((0, 1, 2, 3, 3, 3), pauses, strict=True)), pauses
    now[0] += 8.0
    assert gate.enter() == 0.0
    gate.passed()
    assert [gate.enter(), gate.enter()] == [0.0, 0.0]
    assert gate.enter() > 0


def test_a_server_s_wish_to_be_left_alone_is_kept_and_room_shortens_the_wait() -> None:
    gate = Gate(1, 1.0, 60.0, now=lambda: 5.0)
    gate.enter()
    gate.refused(30.0)
    assert gate.enter() == 30.0
    gate.room()
    assert gate.enter() <= 1.0


def test_pods_are_hardened_unless_the_template_says_otherwise(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, execution_url="http://web:8080")
    accounts = {"dag:conformance": "of-the-dag", "queue:default": "of-the-queue"}
    spec = PodMaker(settings, Options(image="i:1", service_accounts=accounts)).pod(WORKLOAD)["spec"]
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (spec["securityContext"]["runAsNonRoot"], spec["automountServiceAccountToken"]) == (True, False)
    assert (spec["restartPolicy"], spec["serviceAccountName"]) == ("Never", "of-the-dag")
    assert {"name": "TREADLE_EXECUTION_URL", "value": "http://web:8080"} in container["env"]
    assert {"name": "tmp", "emptyDir": {}} in spec["volumes"]
    with pytest.raises(PodRefused, match="no image"):
        PodMaker(settings, Options()).pod(WORKLOAD)


def test_a_workload_that_no_secret_can_hold_is_refused(tmp_path: Path) -> None:
    maker = PodMaker(Settings(home=tmp_path), Options(image="i:1"))
    with pytest.raises(PodRefused, match="the run's conf"):
        maker.secret(make_workload("quick", source="x" * 1_100_000), "t", {"metadata": {"name": "a", "uid": "u"}})


def test_wrong_options_and_templates_are_named(tmp_path: Path) -> None:
    for text, words in (
        ("namespac = 'x'", "did you mean 'namespace'"),
        ("delete_pods = 'no'", "always, on_success, never"),
        ("pending_seconds = 'x'", "pending_seconds is 'x'"),
        ("creates_at_once = 0", "at least 1"),
        ("x =", "cannot be read"),
    ):
        (tmp_path / "kubernetes.toml").write_text(text)
        with pytest.raises(KubernetesError, match=re.escape(words)):
            load_options(tmp_path)
    (tmp_path / "pod.yaml").write_text("spec: {containers: [{name: other}]}")
    with pytest.raises(KubernetesError, match="no container named 'base'"):
        PodMaker(Settings(home=tmp_path), Options(pod_template="pod.yaml"))
