"""The test cluster's API: routes, faults on demand, and a thread that it runs on."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from tests.support.kubernetes_api.http import Answer, Asked, serve
from tests.support.kubernetes_api.kubelet import Kubelet
from tests.support.kubernetes_api.store import Json, Refused, Store, matches, now_text

T = TypeVar("T")

TOKEN = "the-schedulers-token"
_PATH = re.compile(r"/api/v1/namespaces/(?P<space>[^/]+)/(?P<kind>pods|secrets)(?:/(?P<name>[^/]+))?(?P<log>/log)?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(slots=True)
class Fault:
    """Answers the next ``times`` requests of ``method`` (and kind) with an error."""

    method: str
    kind: str
    status: int
    reason: str
    message: str
    times: int = 1
    retry_after: int | None = None
    is_watch: bool | None = None


class KubernetesApi:
    """A cluster of one namespace; ``url`` is where it listens."""

    def __init__(self, *, pretends: bool = False) -> None:
        self._pretends = pretends
        self.quota_pods: int | None = None
        self.gone_as_event = True
        """Whether 410 comes as an event of the stream, or as the status of the answer."""
        self.bookmark_seconds = 0.2
        self.faults: list[Fault] = []
        self.counts: dict[str, int] = {}
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubernetes-api", daemon=True)

    def start(self) -> None:
        """Serve, on a thread."""
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        """Stop; no process is left."""
        self.loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    def write_kubeconfig(self, path: Path) -> None:
        """Write a kubeconfig that leads here."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": self.url}}],
            "users": [{"name": "test", "user": {"token": TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
        path.write_text(yaml.safe_dump(content))

    def call(self, act: Callable[[], T]) -> T:
        """Run ``act`` on the server's thread and return its result."""

        async def run() -> T:
            return act()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(20)

    def pods(self) -> list[Json]:
        """Return the pods as they are."""
        return self.call(lambda: json.loads(json.dumps(list(self.store.objects["pods"].values()))))

    def secrets(self) -> list[Json]:
        """Return the secrets as they are."""
        return self.call(lambda: list(self.store.objects["secrets"].values()))

    def kill(self, name: str, reason: str = "") -> None:
        """Kill a pod's process; ``reason`` is what the cluster says of it, such as ``OOMKilled``."""
        self.call(lambda: self.kubelet.kill(name, reason))

    def output(self, name: str) -> bytes:
        """Return what a pod's process has written so far."""
        return self.call(lambda: self.kubelet.logs.get(name, b""))

    def hold(self) -> None:
        """Let no pod start, until ``release``."""
        self.call(self.kubelet.hold.set)

    def release(self) -> None:
        """Let the pods start that are held back."""
        self.call(self.kubelet.released.set)

    def drop_connections(self) -> None:
        """Break every connection, as a server that restarts does."""

        def act() -> None:
            for writer in list(self._writers):
                writer.transport.abort()

        self.call(act)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.store = Store()
        self.kubelet = Kubelet(self.store, pretends=self._pretends)
        self._ending = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=256)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._ending.wait()
        server.close()
        await self.kubelet.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.gather(*(one.wait_closed() for one in list(self._writers)), return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await serve(reader, writer, self._handle)
        finally:
            self._writers.discard(writer)

    async def _handle(self, asked: Asked) -> Answer:
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "Unauthorized", "Unauthorized")
        found = _PATH.fullmatch(asked.path)
        if found is None:
            raise Refused(404, "NotFound", f"the server could not find {asked.path}")
        kind, name = found["kind"], found["name"]
        is_watch = "watch" in asked.query
        self._count(asked.method, kind, is_watch=is_watch)
        match asked.method, name:
            case "POST", None:
                return 201, self._create(kind, asked.body, found["space"])
            case "GET", None:
                return self._watch(kind, asked.query) if is_watch else (200, self._list(kind, asked.query))
            case "GET", _ if found["log"]:
                return 200, self._log(name, asked.query)
            case "GET", _:
                return 200, self.store.get(kind, name)
            case "PATCH", _:
                return 200, self.store.update(kind, name, lambda thing: _merge(thing, asked.body))
            case "DELETE", _:
                return 200, self._delete(kind, name, asked.body or {})
        raise Refused(405, "MethodNotAllowed", asked.method)

    def _count(self, method: str, kind: str, *, is_watch: bool) -> None:
        key = f"{'WATCH' if is_watch else method} {kind}"
        self.counts[key] = self.counts.get(key, 0) + 1
        for fault in self.faults:
            if fault.method == method and fault.kind == kind and fault.is_watch in (None, is_watch) and fault.times > 0:
                fault.times -= 1
                raise Refused(fault.status, fault.reason, fault.message, fault.retry_after)

    def _create(self, kind: str, thing: Json, space: str) -> Json:
        name = thing["metadata"]["name"]
        if not _NAME.fullmatch(name) or len(name) > 253:
            raise Refused(422, "Invalid", f'Pod "{name}" is invalid: metadata.name: must be a DNS subdomain')
        if kind == "pods":
            self._admit(thing, name)
            thing["status"] = {"phase": "Pending"}
        made = self.store.create(kind, {**thing, "metadata": {**thing["metadata"], "namespace": space}})
        if kind == "pods":
            self.kubelet.added(made)
        return made

    def _admit(self, pod: Json, name: str) -> None:
        if not pod["spec"]["containers"][0].get("image"):
            raise Refused(422, "Invalid", f'Pod "{name}" is invalid: spec.containers[0].image: Required value')
        if self.quota_pods is None:
            return
        held = [one for one in self.store.objects["pods"].values() if one["status"]["phase"] in ("Pending", "Running")]
        if len(held) >= self.quota_pods:
            message = f'pods "{name}" is forbidden: exceeded quota: pods, requested: pods=1, used: pods={len(held)}, '
            raise Refused(403, "Forbidden", message + f"limited: pods={self.quota_pods}")

    def _list(self, kind: str, query: dict[str, str]) -> Json:
        selector, limit = query.get("labelSelector", ""), int(query.get("limit", "0"))
        names = sorted(self.store.objects[kind])
        version = self.store.version
        if "continue" in query:
            version_text, _, after = query["continue"].partition(" ")
            version = int(version_text)
            if version < self.store.oldest - 1:
                raise Refused(410, "Expired", "The provided continue parameter is too old")
            names = [one for one in names if one > after]
        found = [
            one
            for one in (self.store.objects[kind][name] for name in names)
            if matches(one["metadata"].get("labels") or {}, selector)
        ]
        about: Json = {"resourceVersion": str(version)}
        if limit and len(found) > limit:
            found = found[:limit]
            about["continue"] = f"{version} {found[-1]['metadata']['name']}"
        return {"kind": "List", "apiVersion": "v1", "metadata": about, "items": found}

    def _watch(self, kind: str, query: dict[str, str]) -> AsyncIterator[bytes]:
        version, selector = int(query["resourceVersion"]), query.get("labelSelector", "")
        if not self.gone_as_event:
            self.store.since(version, kind)
        return self._events(kind, selector, version, float(query.get("timeoutSeconds", "60")))

    async def _events(self, kind: str, selector: str, version: int, seconds: float) -> AsyncIterator[bytes]:
        until = self.loop.time() + seconds
        while self.loop.time() < until:
            try:
                changes = self.store.since(version, kind)
            except Refused as error:
                yield _line({"type": "ERROR", "object": error.body()})
                return
            for change in changes:
                version = change.version
                event = change.as_event(selector)
                if event is not None:
                    yield _line(event)
            if not changes and await self._quiet():
                version = max(version, self.store.version)
                about = {"resourceVersion": str(version)}
                yield _line({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": about}})

    async def _quiet(self) -> bool:
        """Wait for a change; tell whether there was none for as long as bookmarks are apart."""
        before = self.store.version
        async with self.store.changed:
            try:
                await asyncio.wait_for(self.store.changed.wait(), self.bookmark_seconds)
            except TimeoutError:
                return self.store.version == before
        return False

    def _log(self, name: str, query: dict[str, str]) -> str:
        self.store.get("pods", name)
        text = self.kubelet.logs.get(name, b"").decode(errors="replace")
        lines = text.splitlines(keepends=True)[-int(query.get("tailLines", "1000000")) :]
        return "".join(lines)[: int(query.get("limitBytes", "100000000"))]

    def _delete(self, kind: str, name: str, options: Json) -> Json:
        thing = self.store.get(kind, name)
        uid = (options.get("preconditions") or {}).get("uid")
        if uid is not None and uid != thing["metadata"]["uid"]:
            raise Refused(409, "Conflict", f"the UID in the precondition ({uid}) does not match")
        grace = options.get("gracePeriodSeconds")
        if kind == "pods":
            grace = thing["spec"].get("terminationGracePeriodSeconds", 30) if grace is None else grace
            self.store.update(kind, name, lambda one: one["metadata"].update(deletionTimestamp=now_text()))
            if not self.kubelet.deleted(thing, float(grace)):
                return thing
        self.store.remove(kind, name)
        return thing


def _line(event: Json) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def _merge(thing: Any, patch: Any) -> None:
    for key, value in patch.items():
        if value is None:
            thing.pop(key, None)
        elif isinstance(value, dict) and isinstance(thing.get(key), dict):
            _merge(thing[key], value)
        else:
            thing[key] = value


@contextmanager
def kubernetes_api(*, pretends: bool = False) -> Iterator[KubernetesApi]:
    """Yield a cluster that runs."""
    api = KubernetesApi(pretends=pretends)
    api.start()
    try:
        yield api
    finally:
        api.close()
