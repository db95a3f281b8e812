"""The idempotency key of a durable step: what names one effect to the outside world, in every attempt."""

from __future__ import annotations

import hashlib


def idempotency_key(journal_id: str, name: str, inputs: str) -> str:
    """Return the key of a step of a journal: the same in each attempt, another after the task was cleared."""
    return hashlib.sha256(f"{journal_id}\0{name}\0{inputs}".encode()).hexdigest()[:32]
