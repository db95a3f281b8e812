"""The errors of the Kubernetes executor.

KubernetesError
├── ApiError           the cluster's API refused a request
├── ApiAway            the cluster's API cannot be reached, or fails just now
└── PodRefused         no pod can be made for an attempt; ``str()`` says what to change
"""

from __future__ import annotations

from treadle_executors.errors import ExecutorError


class KubernetesError(ExecutorError):
    """Something about pods cannot be done; ``str()`` says what and why."""


class ApiError(KubernetesError):
    """The API answered with an error: its HTTP status, its reason (a word such as ``Forbidden``) and its sentence."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"the cluster refused it ({status} {reason}): {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @property
    def is_quota(self) -> bool:
        """Whether a quota is used up, so that the same request may succeed once something else has ended."""
        return self.status == 403 and "exceeded quota" in self.message

    @property
    def is_missing_permission(self) -> bool:
        """Whether the scheduler's own account lacks a right."""
        return self.status == 401 or (self.status == 403 and 'User "' in self.message)

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status == 429 or self.status >= 500 or self.is_quota or self.is_missing_permission


class ApiAway(KubernetesError):
    """The API cannot be reached."""

    def __init__(self, host: str, cause: BaseException) -> None:
        super().__init__(f"the cluster at {host} cannot be reached: {type(cause).__name__}: {cause}")


class PodRefused(KubernetesError):
    """No pod can be made as asked."""
