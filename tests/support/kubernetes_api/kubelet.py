"""Runs the test cluster's pods: one local process for the container of each, with its environment and its mounts.

A mount is a folder of its own, and its path is replaced wherever the environment or the command names it. What the
cluster would do to a pod (kill it for its memory, evict it, end it at its deadline) is done to the process.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.kubernetes_api.store import Json, Refused, Store, now_text


class Running:
    """The process of a pod."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: asyncio.subprocess.Process | None = None
        self.log = bytearray()
        self.killed_as = ""


class Kubelet:
    """One node. With ``pretends`` pods are said to run, and nothing does."""

    def __init__(self, store: Store, *, pretends: bool = False) -> None:
        self.store = store
        self.pretends = pretends
        self.bad_images = {"missing:1"}
        self.running: dict[str, Running] = {}
        self.logs: dict[str, bytes] = {}
        self.hold = asyncio.Event()
        """While it is set, pods stay pending: no node has room."""
        self.released = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def added(self, pod: Json) -> None:
        """A pod was made."""
        self._spawn(self._run(pod["metadata"]["name"], pod["metadata"]["uid"]))

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _status(self, name: str, uid: str, **changes: Any) -> None:
        pod = self.store.objects["pods"].get(name)
        if pod is not None and pod["metadata"]["uid"] == uid:
            self.store.update("pods", name, lambda one: one["status"].update(changes))

    async def _run(self, name: str, uid: str) -> None:
        pod = self.store.objects["pods"][name]
        spec = pod["spec"]
        if spec.get("nodeSelector"):
            message = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            self._status(name, uid, phase="Pending", conditions=[condition])
            return
        container = spec["containers"][0]
        if container["image"] in self.bad_images:
            message = f'Back-off pulling image "{container["image"]}"'
            self._waiting(name, uid, container, "ImagePullBackOff", message)
            return
        if self.hold.is_set():
            await self.released.wait()
        if self.pretends:
            state = {"running": {"startedAt": now_text()}}
            self._status(name, uid, phase="Running", containerStatuses=[{"name": container["name"], "state": state}])
            return
        try:
            environment = await self._environment(name, uid, container, spec)
        except Refused:
            return
        if name in self.store.objects["pods"]:
            await self._run_process(name, uid, container, spec, environment)

    def _waiting(self, name: str, uid: str, container: Json, reason: str, message: str) -> None:
        state = {"waiting": {"reason": reason, "message": message}}
        self._status(name, uid, phase="Pending", containerStatuses=[{"name": container["name"], "state": state}])

    async def _environment(self, name: str, uid: str, container: Json, spec: Json) -> dict[str, str]:
        """Return the environment; waits for secrets, as the cluster does."""
        folder = Path(tempfile.mkdtemp(prefix="pod-"))
        self.running[name] = Running(folder)
        values = {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}", "HOME": str(folder)}
        for one in container.get("env", []):
            source = one.get("valueFrom", {}).get("secretKeyRef")
            if source is None:
                values[one["name"]] = one["value"]
            else:
                secret = await self._secret(name, uid, container, source["name"])
                values[one["name"]] = base64.b64decode(secret["data"][source["key"]]).decode()
        last_word = folder / "last-word"
        replaced = {container.get("terminationMessagePath", "/dev/termination-log"): str(last_word)}
        volumes = {one["name"]: one for one in spec.get("volumes", [])}
        for number, mount in enumerate(container.get("volumeMounts", [])):
            place = folder / f"mount{number}"
            place.mkdir()
            replaced[mount["mountPath"]] = str(place)
            source = volumes[mount["name"]].get("secret")
            if source is not None:
                secret = await self._secret(name, uid, container, source["secretName"])
                for item in source["items"]:
                    (place / item["path"]).write_bytes(base64.b64decode(secret["data"][item["key"]]))
        for old, new in sorted(replaced.items(), key=lambda pair: -len(pair[0])):
            if old != "/tmp":
                values = {key: value.replace(old, new) for key, value in values.items()}
        return values

    async def _secret(self, name: str, uid: str, container: Json, wanted: str) -> Json:
        told = False
        while wanted not in self.store.objects["secrets"]:
            if self.store.get("pods", name)["metadata"]["uid"] != uid:
                raise Refused(404, "NotFound", name)
            if not told:
                self._waiting(name, uid, container, "CreateContainerConfigError", f'secret "{wanted}" not found')
                told = True
            async with self.store.changed:
                await self.store.changed.wait()
        return self.store.objects["secrets"][wanted]

    async def _run_process(self, name: str, uid: str, container: Json, spec: Json, values: dict[str, str]) -> None:
        running = self.running[name]
        command = [*container.get("command", []), *container.get("args", [])]
        try:
            running.process = await asyncio.create_subprocess_exec(
                *command,
                env=values,
                cwd=running.folder,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            state = {"terminated": {"exitCode": 128, "reason": "StartError", "message": str(error)}}
            self._status(name, uid, phase="Failed", containerStatuses=[{"name": container["name"], "state": state}])
            return
        state = {"running": {"startedAt": now_text()}}
        self._status(name, uid, phase="Running", containerStatuses=[{"name": container["name"], "state": state}])
        deadline = spec.get("activeDeadlineSeconds")
        if deadline is not None:
            asyncio.get_running_loop().call_later(float(deadline), self._end_at_deadline, name, uid)
        assert running.process.stdout is not None
        while data := await running.process.stdout.read(65536):
            running.log += data
            self.logs[name] = bytes(running.log)
        code = await running.process.wait()
        self._ended(name, uid, container, running, code)

    def _ended(self, name: str, uid: str, container: Json, running: Running, code: int) -> None:
        self.running.pop(name, None)
        pod = self.store.objects["pods"].get(name)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        word = running.folder / "last-word"
        terminated: Json = {
            "exitCode": 128 - code if code < 0 else code,
            "reason": running.killed_as or ("Completed" if code == 0 else "Error"),
            "message": word.read_text() if word.exists() else "",
        }
        statuses = [{"name": container["name"], "state": {"terminated": terminated}}]
        phase = "Succeeded" if code == 0 and pod["status"]["phase"] != "Failed" else "Failed"
        self._status(name, uid, phase=phase, containerStatuses=statuses)
        if pod["metadata"].get("deletionTimestamp"):
            self.store.remove("pods", name)

    def _end_at_deadline(self, name: str, uid: str) -> None:
        if name in self.running:
            message = "Pod was active on the node longer than the specified deadline"
            self._status(name, uid, phase="Failed", reason="DeadlineExceeded", message=message)
            self.signal(name, signal.SIGTERM)

    def evict(self, name: str) -> None:
        """Do as a node that runs out of memory."""
        uid = self.store.get("pods", name)["metadata"]["uid"]
        message = "The node was low on resource: memory."
        self._status(name, uid, phase="Failed", reason="Evicted", message=message)
        self.signal(name, signal.SIGKILL)

    def kill(self, name: str, reason: str = "") -> None:
        """Kill a pod's processes; ``reason`` is what the cluster says of it, such as ``OOMKilled``."""
        if name in self.running:
            self.running[name].killed_as = reason
            self.signal(name, signal.SIGKILL)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a pod's first process, or kill all of its processes."""
        process = self.running[name].process if name in self.running else None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)

    def deleted(self, pod: Json, grace: float) -> bool:
        """A pod is to go; tell whether it is gone at once."""
        name = pod["metadata"]["name"]
        if name not in self.running or self.running[name].process is None:
            return True
        self.signal(name, signal.SIGTERM if grace else signal.SIGKILL)
        asyncio.get_running_loop().call_later(grace, self.kill, name)
        return False

    async def close(self) -> None:
        """Kill every process that is left."""
        left = [one.process for one in self.running.values() if one.process is not None]
        for name in list(self.running):
            self.kill(name)
        for process in left:
            await process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
