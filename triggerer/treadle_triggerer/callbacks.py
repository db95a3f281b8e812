"""An asynchronous callback of a deadline, called in a triggerer: begun at most once, in a thread beside the loop.

The server makes such a trigger (``treadle_metadata.awaited_callbacks``). The callback has an event loop of its own in
its thread, so that one which blocks holds up no trigger; one after the other, since what runs is known to a process as
a whole. Its questions go the way of triggers' questions.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from treadle.runtime.run_callback import call_in_thread
from treadle.triggers import asking
from treadle.triggers.base import BaseTrigger, TriggerEvent
from treadle_worker.child_supervisor import SupervisorBase
from treadle_worker.loading import load_dag_file, pick_dag

_ONE: Final = asyncio.Lock()

FOLDER: list[str] = []
"""The DAGs folder of this process."""


class CallbackTrigger(BaseTrigger):
    """Calls what ``workload`` (``treadle_worker.protocol.Workload``, as JSON) is about; the event is its ``error``."""

    def __init__(self, workload: str) -> None:
        self.workload: dict[str, Any] = json.loads(workload)
        self.file: Mapping[str, Any] = {}
        """The DAG file of the callback's version."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return path and arguments."""
        return "treadle_triggerer.callbacks.CallbackTrigger", {"workload": json.dumps(self.workload)}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Call it, unless somebody has begun before."""
        limit = float(self.workload["callback"]["limit"])
        async with _ONE:
            if not await asking.ask("start_callback", hostname=socket.gethostname(), limit=limit):
                raise RuntimeError("it had begun in a triggerer that is gone, and is not begun twice")
            async with asyncio.timeout(limit):
                error = await asyncio.to_thread(self._call, asyncio.get_running_loop())
        yield TriggerEvent({"error": error})

    def _call(self, loop: asyncio.AbstractEventLoop) -> dict[str, str] | None:
        workload = self.workload
        loaded = load_dag_file(self.file["file"], FOLDER[0], self.file["source"])
        dag = pick_dag(loaded.dags, workload["dag_id"], self.file["file"])
        return call_in_thread(dag, workload, _LoopSupervisor(loop))


class _LoopSupervisor(SupervisorBase):
    """Asks through the loop, from the callback's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _ask(self, op: str, args: dict[str, Any]) -> Any:
        question = asking.ask("of_callback", op=op, args=args)
        return asyncio.run_coroutine_threadsafe(question, self._loop).result()
