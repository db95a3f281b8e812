"""What a DAG's author may change of a pod, and what not: a border of security."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes.client import V1Container, V1ObjectMeta, V1Pod, V1PodSpec, V1ResourceRequirements

from treadle import DAG, task
from treadle.serialization import document_of
from treadle_executors.kubernetes.errors import PodRefused
from treadle_executors.kubernetes.merging import merged
from treadle_executors.kubernetes.options import OVERRIDABLE

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "a"}},
    "spec": {
        "nodeSelector": {"pool": "batch"},
        "tolerations": [{"key": "a"}],
        "containers": [
            {"name": "sidecar", "image": "s:1"},
            {
                "name": "base",
                "image": "i:1",
                "env": [{"name": "A", "value": "1"}],
                "resources": {"limits": {"memory": "1Gi", "cpu": "1"}},
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
            },
        ],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    },
}


def base(override: dict[str, Any]) -> dict[str, Any]:
    """Return an override of the container ``base``."""
    return {"spec": {"containers": [{"name": "base", **override}]}}


def test_an_override_changes_what_it_names_and_nothing_else() -> None:
    override = {
        "metadata": {"labels": {"cost": "b"}},
        "spec": {
            "nodeSelector": {"gpu": "yes"},
            "tolerations": [{"key": "b"}],
            "containers": [
                {
                    "name": "base",
                    "image": "i:2",
                    "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}],
                    "resources": {"limits": {"memory": "4Gi"}},
                }
            ],
        },
    }
    pod = merged(TEMPLATE, override, OVERRIDABLE)
    container = pod["spec"]["containers"][1]
    assert pod["metadata"]["labels"] == {"team": "a", "cost": "b"}
    assert pod["spec"]["nodeSelector"] == {"pool": "batch", "gpu": "yes"}
    assert pod["spec"]["tolerations"] == [{"key": "a"}, {"key": "b"}]
    assert pod["spec"]["containers"][0] == {"name": "sidecar", "image": "s:1"}
    assert container["env"] == [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}]
    assert (container["image"], container["resources"]) == ("i:2", {"limits": {"memory": "4Gi", "cpu": "1"}})
    assert container["volumeMounts"] == TEMPLATE["spec"]["containers"][1]["volumeMounts"]
    assert TEMPLATE["spec"]["tolerations"] == [{"key": "a"}], "the template was changed"


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ({"spec": {"hostNetwork": True}}, "spec.hostNetwork"),
        ({"spec": {"serviceAccountName": "admin"}}, "spec.serviceAccountName"),
        ({"spec": {"automountServiceAccountToken": True}}, "spec.automountServiceAccountToken"),
        ({"spec": {"securityContext": {"runAsUser": 0}}}, "spec.securityContext"),
        ({"spec": {"initContainers": [{"name": "x"}]}}, "spec.initContainers"),
        ({"spec": {"containers": [{"name": "base"}, {"name": "evil", "image": "x"}]}}, "spec.containers[evil]"),
        ({"spec": {"containers": [{"name": "base"}, {"name": "sidecar", "image": "x"}]}}, "spec.containers[sidecar]"),
        (base({"securityContext": {"privileged": True}}), "spec.containers.securityContext"),
        (base({"command": ["sh"]}), "spec.containers.command"),
        (base({"envFrom": [{"secretRef": {"name": "other"}}]}), "spec.containers.envFrom"),
        ({"metadata": {"ownerReferences": []}}, "metadata.ownerReferences"),
        ({"metadata": {"namespace": "other"}}, "metadata.namespace"),
        ({"metadata": {"labels": {"treadle.dev/attempt": "x"}}}, "treadle.dev/attempt"),
        ({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}, "hostPath"),
        ({"spec": {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]}}, "secret"),
        ({"spec": {"volumes": [{"name": "v", "projected": {"sources": []}}]}}, "projected"),
        ({"spec": {"volumes": [{"name": "treadle-attempt", "emptyDir": {}}]}}, "treadle-attempt"),
        (base({"env": [{"name": "TREADLE_EXECUTION_URL", "value": "http://evil"}]}), "TREADLE_EXECUTION_URL"),
        (base({"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "o", "key": "k"}}}]}), "valueFrom"),
        (["no", "pod"], "expected a pod"),
        ({"spec": {"containers": "base"}}, "no list of containers"),
        (base({"env": "A=1"}), "list of objects"),
    ],
)
def test_what_is_the_administrator_s_is_refused_by_name(override: Any, named: str) -> None:
    with pytest.raises(PodRefused) as caught:
        merged(TEMPLATE, override, OVERRIDABLE)
    assert named in str(caught.value)


def test_an_administrator_may_allow_more_or_less() -> None:
    pod = merged(TEMPLATE, {"spec": {"hostNetwork": True}}, ["spec.hostNetwork"])
    assert pod["spec"]["hostNetwork"] is True
    with pytest.raises(PodRefused):
        merged(TEMPLATE, base({"image": "i:2"}), ["spec.hostNetwork"])
    env = base({"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "o", "key": "k"}}}]})
    merged(TEMPLATE, env, [*OVERRIDABLE, "secrets"])


def test_a_pod_of_the_official_client_is_stored_as_the_cluster_s_json() -> None:
    container = V1Container(name="whatever", image="i:2", resources=V1ResourceRequirements(limits={"memory": "2Gi"}))
    pod = V1Pod(
        metadata=V1ObjectMeta(labels={"a": "b"}), spec=V1PodSpec(containers=[container], node_selector={"c": "d"})
    )
    with DAG("d") as dag:

        @task(executor_config={"pod_override": pod})
        def work() -> None:
            """Do nothing."""

        work()
    (stored,) = document_of(dag).tasks
    override = stored.executor_config["pod_override"]
    assert override["spec"]["nodeSelector"] == {"c": "d"}
    made = merged(TEMPLATE, override, OVERRIDABLE)["spec"]["containers"]
    assert [one["name"] for one in made] == ["sidecar", "base"]
    assert (made[1]["image"], made[1]["resources"]["limits"]["memory"]) == ("i:2", "2Gi")
