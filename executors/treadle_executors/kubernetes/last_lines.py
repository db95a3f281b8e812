"""What a container that was killed whole had written and not sent: read from the cluster, and sent to the server.

Called for a pod that ended without having reported, before it is deleted. ``treadle task run`` says its log on the
pod's output too (``single.echo``); what the server lacks of that is appended, at its byte, so that once more changes
nothing. Where it cannot be told exactly what is missing, nothing is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from treadle_executors.batches import ExecutionUnavailable
from treadle_executors.http_execution import HttpExecution, LogPart
from treadle_executors.kubernetes.cluster import Cluster
from treadle_executors.kubernetes.pod_state import PodView
from treadle_executors.single.echo import AT_BYTE, BEGINS
from treadle_metadata.errors import MetadataError
from treadle_metadata.identifiers import AttemptRef

log = logging.getLogger(__name__)

_MOST_BYTES: Final = 8 * 1024 * 1024
"""The longest output that is looked through."""

_LARGEST_PART: Final = 256 * 1024
_LINE: Final = b'{"time":"'
_WORDS: Final = 10
_MOST_WORDS: Final = 2000


class LastLines:
    """Sends them to the server at ``url``, with a token that ``token_of`` gives."""

    def __init__(self, cluster: Cluster, url: str, token_of: Callable[[AttemptRef], str]) -> None:
        self._cluster = cluster
        self._execution = HttpExecution(url)
        self._token_of = token_of

    def send(self, view: PodView, output: bytes) -> None:
        """Send what the server lacks of a pod's ``output``; a server that is away loses it."""
        if not output.startswith(BEGINS):
            return
        attempt_id, token = str(view.ref.attempt_id), self._token_of(view.ref)
        try:
            has = self._execution.send_logs([LogPart(attempt_id, token)]).get(attempt_id)
            rest = b"" if has is None else missing(output, has)
            while rest and has is not None:
                part, rest = rest[:_LARGEST_PART], rest[_LARGEST_PART:]
                self._execution.send_logs([LogPart(attempt_id, token, has, part)])
                has += len(part)
        except (ExecutionUnavailable, MetadataError) as error:
            log.warning("the last lines of pod %s cannot be sent: %s", view.name, error)

    def output_of(self, view: PodView) -> bytes:
        """Return what a pod has written; nothing if that cannot be read, or is too long to be looked through."""
        output = self._cluster.pod_output(view.name, _MOST_BYTES)
        return output if len(output) < _MOST_BYTES else b""


def missing(output: bytes, has: int) -> bytes:
    """Return what a server that has ``has`` bytes of a log lacks of a pod's output; nothing if that is not certain."""
    base: int | None = None
    own: list[bytes] = []
    for line in output.splitlines(keepends=True):
        if line.startswith(_LINE) and line.endswith(b"}\n"):
            own.append(line)
        elif line.startswith(AT_BYTE) and line[len(AT_BYTE) : -1].isdigit():
            base = int(line[len(AT_BYTE) : -1])
    if base is None:
        # Nothing was sent yet, if there is nothing; else nobody knows whose it is.
        base = 0 if has == 0 else None
    if base is None or has < base:
        return b""
    return b"".join(own)[has - base :]


def last_words(output: bytes) -> str:
    """Return the last lines of a pod's output that are not its attempt's log: what broke before there was one."""
    lines = [
        line for line in output.splitlines() if line.strip() and not line.startswith((_LINE, AT_BYTE, BEGINS.rstrip()))
    ]
    return b"\n".join(lines[-_WORDS:]).decode("utf-8", "replace")[-_MOST_WORDS:].strip()
