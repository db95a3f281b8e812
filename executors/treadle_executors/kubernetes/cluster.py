"""The cluster's API over HTTP: lists, watches, creates, patches and deletes, all as plain JSON.

The official client finds the address, the certificates and the credentials (and renews them); its models are not used,
since a pod as a tree of objects costs a hundred times its text. Safe to use from several threads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
from kubernetes import client, config

from treadle_executors.kubernetes.errors import ApiAway, ApiError, KubernetesError
from treadle_executors.kubernetes.options import Options

Json = dict[str, Any]

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 30.0
_PAGE: Final = 500
_WATCH_SECONDS: Final = 240
"""After this time the server ends a watch in order; the next goes on where it ended."""


class Watch:
    """The events of a watch, as they come; ``stop`` ends the waiting for the next one, from any thread."""

    def __init__(self, reply: urllib3.BaseHTTPResponse, host: str) -> None:
        self._reply = reply
        self._host = host

    def __iter__(self) -> Iterator[Json]:
        """Yield the events.

        Raises:
            ApiAway: the connection broke.
        """
        rest = b""
        try:
            for chunk in self._reply.stream(64 * 1024):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield _read(line)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiAway(self._host, error) from error
        finally:
            self._reply.close()

    def stop(self) -> None:
        """End the watch."""
        with suppress(OSError, ValueError, AttributeError):
            self._reply.shutdown()


class Cluster:
    """One namespace of a cluster."""

    def __init__(self, api: Any, namespace: str) -> None:
        self._api = api
        self._host: str = api.configuration.host.rstrip("/")
        self._pool: urllib3.PoolManager = api.rest_client.pool_manager
        self._base = f"/api/v1/namespaces/{namespace}"
        self.namespace = namespace

    def create_pod(self, pod: Json) -> Json:
        """Make a pod; return it as the cluster has it.

        Raises:
            ApiError: the cluster refused it. 409: it is there already.
            ApiAway: the cluster cannot be reached.
        """
        return self._call("POST", "/pods", pod)

    def create_secret(self, secret: Json) -> Json:
        """Make a secret; raises as ``create_pod``."""
        return self._call("POST", "/secrets", secret)

    def get_pod(self, name: str) -> Json:
        """Return a pod; raises as ``create_pod``, 404 if there is none."""
        return self._call("GET", f"/pods/{name}")

    def has_pod(self, name: str) -> bool:
        """Tell whether a pod is there; raises as ``create_pod``."""
        try:
            self.get_pod(name)
        except ApiError as error:
            if error.status != 404:
                raise
            return False
        return True

    def delete_pod(self, name: str, uid: str | None = None, grace_seconds: float | None = None) -> None:
        """Delete a pod, if it is (still) the one with ``uid``; one that is gone is no error."""
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = int(grace_seconds)
        try:
            self._call("DELETE", f"/pods/{name}", body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    def label_pod(self, name: str, labels: Mapping[str, str]) -> None:
        """Set labels of a pod; one that is gone is no error."""
        patch = {"metadata": {"labels": dict(labels)}}
        try:
            self._call("PATCH", f"/pods/{name}", patch, content_type="application/merge-patch+json")
        except ApiError as error:
            if error.status != 404:
                raise

    def pod_output(self, name: str, limit_bytes: int) -> bytes:
        """Return what a pod has written, up to so many bytes; empty if there is nothing that could be read."""
        query = urlencode({"limitBytes": limit_bytes})
        try:
            reply = self._send("GET", f"/pods/{name}/log?{query}", None, "application/json")
        except KubernetesError:
            return b""
        return bytes(reply.data)

    def list_pods(self, selector: str) -> tuple[list[Json], str]:
        """Return the pods that ``selector`` names, and the resource version to watch from; page by page.

        Raises:
            ApiError: the cluster refused it. 410: the list grew too old between two of its pages.
            ApiAway: the cluster cannot be reached.
        """
        found: list[Json] = []
        query = {"labelSelector": selector, "limit": str(_PAGE)}
        while True:
            said = self._call("GET", f"/pods?{urlencode(query)}")
            found += said.get("items") or []
            about = said.get("metadata") or {}
            if not about.get("continue"):
                return found, str(about.get("resourceVersion", ""))
            query["continue"] = about["continue"]

    def watch_pods(self, selector: str, version: str) -> Watch:
        """Return what happens to the pods that ``selector`` names after ``version``, until the server ends the watch.

        Raises:
            ApiError: the cluster refused it. 410: ``version`` is too old.
            ApiAway: the cluster cannot be reached.
        """
        query = {
            "labelSelector": selector,
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(_WATCH_SECONDS),
        }
        return Watch(self._send("GET", f"/pods?{urlencode(query)}", None, "application/json", stream=True), self._host)

    def close(self) -> None:
        """Close idle connections."""
        self._pool.clear()

    def _call(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "application/json"
    ) -> Json:
        reply = self._send(method, path, body, content_type)
        return _read(reply.data)

    def _send(
        self, method: str, path: str, body: Json | None, content_type: str, *, stream: bool = False
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        # The client's own way to the newest credential; it may ask a plug-in or read a renewed file.
        self._api.update_params_for_auth(headers, [], ["BearerToken"])
        read = _WATCH_SECONDS + _READ_SECONDS if stream else _READ_SECONDS
        try:
            reply = self._pool.request(
                method,
                self._host + self._base + path,
                body=None if body is None else json.dumps(body, separators=(",", ":")).encode(),
                headers=headers,
                preload_content=not stream,
                retries=False,
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=read),
            )
            if reply.status >= 400:
                raise _refusal(reply.status, reply.read() if stream else reply.data, reply.headers)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiAway(self._host, error) from error
        return reply


def connect(options: Options) -> Cluster:
    """Return the cluster that the options name: by a kubeconfig, by the pod's own account, or by the usual kubeconfig.

    Raises:
        KubernetesError: no cluster is configured.
    """
    configuration = client.Configuration()
    configuration.connection_pool_maxsize = options.creates_at_once + 4
    try:
        if options.kubeconfig or options.context:
            _load_kubeconfig(options, configuration)
        else:
            try:
                config.load_incluster_config(client_configuration=configuration)
            except config.ConfigException:
                _load_kubeconfig(options, configuration)
    except (config.ConfigException, OSError) as error:
        raise KubernetesError(
            f"no cluster is configured: {error}; set kubeconfig in kubernetes.toml, or run the scheduler in a pod"
        ) from error
    return Cluster(client.ApiClient(configuration), options.namespace)


def _load_kubeconfig(options: Options, configuration: Any) -> None:
    config.load_kube_config(
        config_file=options.kubeconfig or None, context=options.context or None, client_configuration=configuration
    )


def _read(data: bytes) -> Json:
    try:
        said = json.loads(data)
    except ValueError as error:
        raise ApiError(502, "BadAnswer", f"the answer is no JSON: {data[:100]!r}") from error
    if not isinstance(said, dict):
        raise ApiError(502, "BadAnswer", f"the answer is no object: {data[:100]!r}")
    return said


def _refusal(status: int, data: bytes, headers: Mapping[str, str]) -> ApiError:
    try:
        said = json.loads(data)
        reason, message = str(said.get("reason") or ""), str(said.get("message") or "")
    except (ValueError, AttributeError):
        reason, message = "", data[:300].decode("utf-8", "replace")
    after = headers.get("Retry-After", "")
    return ApiError(status, reason, message, float(after) if after.isdigit() else None)
