"""What a task learns from an answer and must not print: masked in its output before the answer reaches it. Pure but for
the masker, which is the process's own. Called by whatever passes answers on to a task child.
"""

from __future__ import annotations

from treadle.runtime import masking
from treadle_worker.frames import Message


def keep_secret(question: Message, result: object) -> None:
    """Have the masker hide what the answer to ``question`` tells of secrets."""
    op = question.get("op")
    if op == "get_variable" and isinstance(result, str):
        masking.add_variable(question["args"]["key"], result)
    elif isinstance(result, dict) and op in ("get_connection", "open_journal"):
        fields = result if op == "get_connection" else result.get("connection")
        if isinstance(fields, dict):
            masking.add_connection(fields)
