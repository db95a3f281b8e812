"""The pod and the secret of an attempt. Pure, apart from reading the template once.

The attempt's token is in a Secret that the pod owns, so that the cluster removes it with the pod; it reaches the pod by
the environment, where the task's own process cannot read it (``single.main``). Whoever may read pods of the namespace
does not see it; whoever may read its secrets does, as with every secret of the cluster.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from treadle_executors.kubernetes import names
from treadle_executors.kubernetes.errors import KubernetesError, PodRefused
from treadle_executors.kubernetes.merging import BASE, Json, merged
from treadle_executors.kubernetes.options import Options
from treadle_executors.single.main import LAST_WORD, TOKEN, WORKLOAD
from treadle_metadata.settings import Settings
from treadle_worker.protocol import Workload

_VOLUME: Final = "treadle-attempt"
_FOLDER: Final = "/run/treadle"
_LAST_WORD_FILE: Final = "/dev/termination-log"
_LARGEST_WORKLOAD: Final = 1000 * 1000
"""Bytes; the cluster takes secrets of up to 1 MiB."""

_SECONDS_BEYOND_GRACE: Final = 10
_PASSED_ON: Final = (
    "lease_seconds",
    "lease_renewal_seconds",
    "terminate_grace_seconds",
    "parse_timeout_seconds",
    "xcom_max_bytes",
    "timezone",
)
"""Settings that a pod must share with its scheduler."""

_HARDENED_POD: Final[Mapping[str, Any]] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
_HARDENED: Final[Mapping[str, Any]] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


class PodMaker:
    """Makes the pods of an installation."""

    def __init__(self, settings: Settings, options: Options) -> None:
        self._settings = settings
        self._options = options
        self._template = _template(settings, options)
        self._environment = {f"TREADLE_{one.upper()}": str(getattr(settings, one)) for one in _PASSED_ON}
        self._environment["TREADLE_EXECUTION_URL"] = settings.execution_url

    def pod(self, workload: Workload) -> Json:
        """Return the pod of an attempt.

        Raises:
            PodRefused: its ``executor_config`` asks for something that is not the author's to ask for.
        """
        override = (workload["executor_config"] or {}).get("pod_override")
        pod = deepcopy(self._template)
        if override is not None:
            pod = merged(pod, override, self._options.override_may)
        name = names.pod_name(workload)
        about = pod.setdefault("metadata", {})
        about |= {"name": name, "namespace": self._options.namespace}
        about["labels"] = {**about.get("labels", {}), **names.labels_of(workload, self._options.installation)}
        about["annotations"] = {**about.get("annotations", {}), **names.annotations_of(workload)}
        self._complete(pod["spec"], workload, name)
        return pod

    def _complete(self, spec: Json, workload: Workload, name: str) -> None:
        spec["restartPolicy"] = "Never"
        spec.setdefault("automountServiceAccountToken", False)
        spec.setdefault(
            "terminationGracePeriodSeconds", int(self._settings.terminate_grace_seconds) + _SECONDS_BEYOND_GRACE
        )
        spec["securityContext"] = {**_HARDENED_POD, **spec.get("securityContext", {})}
        accounts = self._options.service_accounts
        account = accounts.get(f"dag:{workload['dag_id']}") or accounts.get(f"queue:{workload['queue']}")
        if account:
            spec["serviceAccountName"] = account
        secret = {"secretName": name, "items": [{"key": "workload", "path": "workload"}], "defaultMode": 0o440}
        spec.setdefault("volumes", []).append({"name": _VOLUME, "secret": secret})
        self._complete_container(_base_of(spec), name)

    def _complete_container(self, container: Json, name: str) -> None:
        container.setdefault("image", self._options.image)
        if not container["image"]:
            raise PodRefused(
                "no image: name one in the pod template, or by the option image in kubernetes.toml, "
                "or in the task's pod_override"
            )
        container.setdefault("command", ["treadle", "task", "run"])
        container["securityContext"] = {**_HARDENED, **container.get("securityContext", {})}
        container["terminationMessagePath"] = _LAST_WORD_FILE
        container.setdefault("terminationMessagePolicy", "File")
        own = {**self._environment, WORKLOAD: f"{_FOLDER}/workload", LAST_WORD: _LAST_WORD_FILE}
        environment = [one for one in container.get("env", []) if one.get("name") not in (*own, TOKEN)]
        environment += [{"name": key, "value": value} for key, value in own.items()]
        environment.append({"name": TOKEN, "valueFrom": {"secretKeyRef": {"name": name, "key": "token"}}})
        container["env"] = environment
        container.setdefault("volumeMounts", []).append({"name": _VOLUME, "mountPath": _FOLDER, "readOnly": True})

    def secret(self, workload: Workload, token: str, pod: Mapping[str, Any]) -> Json:
        """Return the secret that ``pod``, as the cluster has it, owns.

        Raises:
            PodRefused: the workload is larger than the cluster takes.
        """
        content = json.dumps(workload, separators=(",", ":")).encode()
        if len(content) > _LARGEST_WORKLOAD:
            raise PodRefused(
                f"the attempt's workload has {len(content)} bytes, a pod takes {_LARGEST_WORKLOAD}: the run's conf, or "
                "an old version's source text, is too large for this executor"
            )
        about = pod["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": about["name"], "uid": about["uid"]}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "immutable": True,
            "metadata": {
                "name": about["name"],
                "namespace": about["namespace"],
                "labels": names.labels_of(workload, self._options.installation),
                "ownerReferences": [owner],
            },
            "data": {"workload": b64encode(content).decode(), "token": b64encode(token.encode()).decode()},
        }


def _base_of(spec: Json) -> Json:
    found: Json = next(one for one in spec["containers"] if one.get("name") == BASE)
    return found


def _template(settings: Settings, options: Options) -> Json:
    """Return the pod template.

    Raises:
        KubernetesError: it cannot be read, or has no container ``base``.
    """
    if options.pod_template:
        path = Path(settings.home.expanduser() / options.pod_template)
        where = str(path)
    else:
        path, where = None, "the package's pod template"
    try:
        text = path.read_text() if path else resources.files(__package__).joinpath("pod_template.yaml").read_text()
        pod = yaml.safe_load(text)
    except (OSError, yaml.YAMLError) as error:
        raise KubernetesError(f"{where} cannot be read: {error}") from error
    containers = pod.get("spec", {}).get("containers") if isinstance(pod, dict) else None
    if not isinstance(containers, list) or not any(
        isinstance(one, dict) and one.get("name") == BASE for one in containers
    ):
        raise KubernetesError(f"{where} has no container named {BASE!r}: that is the one which runs the attempt")
    return {"apiVersion": "v1", "kind": "Pod", **pod}
