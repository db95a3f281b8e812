"""What an installation says about its cluster: ``kubernetes.toml`` in its home folder, each key typed and documented.

Read by the scheduler and by ``treadle kubernetes``. A key that is unknown or of the wrong type is an error that names
it and the nearest one.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from treadle_executors.kubernetes.errors import KubernetesError

FILE: Final = "kubernetes.toml"

DELETE_PODS: Final = ("always", "on_success", "never")

OVERRIDABLE: Final = (
    "metadata.labels",
    "metadata.annotations",
    "spec.nodeSelector",
    "spec.tolerations",
    "spec.affinity",
    "spec.topologySpreadConstraints",
    "spec.priorityClassName",
    "spec.terminationGracePeriodSeconds",
    "spec.activeDeadlineSeconds",
    "spec.volumes",
    "spec.containers.image",
    "spec.containers.imagePullPolicy",
    "spec.containers.resources",
    "spec.containers.env",
    "spec.containers.volumeMounts",
    "spec.containers.workingDir",
)
"""What a DAG's ``pod_override`` may set unless the administrator says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options with their defaults; durations in seconds."""

    namespace: str = "default"
    """Where pods are made."""
    installation: str = "treadle"
    """Tells this installation's pods from another's in the same namespace; a label value."""
    pod_template: str = ""
    """Path of the pod template, relative to the home folder; empty: the one of the package."""
    image: str = ""
    """Image of the container ``base`` where the template names none."""
    kubeconfig: str = ""
    """Path of a kubeconfig; empty: the pod's own account, or the usual kubeconfig."""
    context: str = ""
    delete_pods: str = "always"
    """``always``, ``on_success`` or ``never``: which pods are deleted once they are over."""
    pending_seconds: float = 600.0
    """How long a pod may wait for a node or an image before its attempt fails with the cluster's reason."""
    creates_at_once: int = 8
    """How many pods are being made at the same time."""
    first_pause_seconds: float = 0.5
    longest_pause_seconds: float = 60.0
    """The pauses after the cluster refused a pod for a quota or for load; doubled each time, with chance in them."""
    most_creates: int = 0
    """How often the creation of one pod is tried before its attempt fails; 0: as often as it takes."""
    override_may: tuple[str, ...] = OVERRIDABLE
    """Fields that a DAG's ``pod_override`` may set; all others are the administrator's."""
    service_accounts: Mapping[str, str] = field(default_factory=dict)
    """Service account by ``dag:ID`` or ``queue:NAME``; the DAG's wins, others have the template's."""


def load_options(home: Path) -> Options:
    """Read the options of an installation; without a file, the defaults.

    Raises:
        KubernetesError: a key is unknown, or a value is unusable.
    """
    path = home.expanduser() / FILE
    try:
        content = tomllib.loads(path.read_text()) if path.exists() else {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise KubernetesError(f"{path} cannot be read: {error}") from error
    return options_of(content, str(path))


def options_of(content: Mapping[str, Any], where: str) -> Options:
    """Return the options that ``content`` says; ``where`` names it in errors.

    Raises:
        KubernetesError: a key is unknown, or a value is unusable.
    """
    defaults = {one.name: getattr(_DEFAULTS, one.name) for one in fields(Options)}
    values: dict[str, Any] = {}
    for name, value in content.items():
        if name not in defaults:
            close = difflib.get_close_matches(name, defaults, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise KubernetesError(f"{where} sets {name!r}, which is no option{hint}")
        values[name] = _typed(name, value, defaults[name], where)
    found = Options(**values)
    if found.delete_pods not in DELETE_PODS:
        raise KubernetesError(f"{where}: delete_pods is {found.delete_pods!r}, expected {', '.join(DELETE_PODS)}")
    if found.creates_at_once < 1:
        raise KubernetesError(f"{where}: creates_at_once is {found.creates_at_once}, expected at least 1")
    return found


def _typed(name: str, value: Any, default: Any, where: str) -> Any:
    kind = type(default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is tuple and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if kind is dict and isinstance(value, Mapping) and all(isinstance(one, str) for one in value.values()):
        return dict(value)
    if kind in (str, int, float) and type(value) is kind:
        return value
    raise KubernetesError(f"{where}: {name} is {value!r}, expected a value like {default!r}")


_DEFAULTS: Final = Options()
