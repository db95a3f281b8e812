"""The manifests for Kubernetes: a part for each daemon, commands that exist, and names that agree with one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from tests.support import code

from treadle_cli.main import root

FOLDER = code.ROOT / "executors" / "kubernetes-manifests"
DAEMONS = {"scheduler", "dag-processor", "triggerer", "webserver"}


def manifests() -> list[dict[str, Any]]:
    return [one for path in sorted(FOLDER.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in manifests() if one["kind"] == kind}


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what each workload makes: its name and the template of its pods."""
    for name, one in (of_kind("Deployment") | of_kind("Job")).items():
        yield name, one["spec"]["template"]
    for name, one in of_kind("CronJob").items():
        yield name, one["spec"]["jobTemplate"]["spec"]["template"]


def test_each_daemon_has_a_deployment_that_selects_its_own_pods() -> None:
    deployments = of_kind("Deployment")
    assert set(deployments) == {f"treadle-{name}" for name in DAEMONS}
    for name, one in deployments.items():
        assert one["spec"]["selector"]["matchLabels"] == {"app": name}
    for name, template in pods():
        assert template["metadata"]["labels"] == {"app": name}
    for one in of_kind("Service").values():
        assert one["spec"]["selector"]["app"] in deployments


def test_every_command_of_the_manifests_exists() -> None:
    for name, template in pods():
        (container,) = template["spec"]["containers"]
        program, *words = container["command"]
        assert program == "treadle", name
        command: Any = root
        with root.make_context("treadle", ["--help"], resilient_parsing=True) as context:
            for word in words:
                command = command.get_command(context, word)
                assert command is not None, f"{name}: {container['command']}"


def test_pods_run_as_nobody_special_and_reach_the_cluster_only_if_they_must() -> None:
    accounts, maps = of_kind("ServiceAccount"), of_kind("ConfigMap")
    bound = {one["name"] for binding in of_kind("RoleBinding").values() for one in binding["subjects"]}
    assert set(accounts) == bound
    for name, template in pods():
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        (container,) = spec["containers"]
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        if "serviceAccountName" in spec:
            assert spec["serviceAccountName"] in accounts
        else:
            assert spec["automountServiceAccountToken"] is False, name
        mounted = {one["configMap"]["name"] for one in spec.get("volumes", ()) if "configMap" in one}
        assert mounted <= set(maps)


def test_triggerers_get_no_access_to_the_database() -> None:
    (container,) = of_kind("Deployment")["treadle-triggerer"]["spec"]["template"]["spec"]["containers"]
    assert "envFrom" not in container
    assert {one["name"] for one in container["env"]} == {"TREADLE_HOME", "TREADLE_EXECUTION_URL", "TREADLE_JWT_SECRET"}
