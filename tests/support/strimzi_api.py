"""A Kubernetes API server with one ``KafkaMirrorMaker2``, and what Strimzi's operator does with it, over real HTTP.

It keeps the rules that an adapter relies on: a replaced object must have the ``resourceVersion`` that is stored (409
otherwise), a change of the spec raises the generation, keys that the published schema does not have are refused (422),
and the operator answers the annotations about offsets as Strimzi's proposals 076 and 083 say. It is no Kubernetes.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.connect_api import TRACE

TOKEN = "token-of-a-service-account"
_CONNECTOR_KEYS = {"tasksMax", "pause", "config", "state", "autoRestart", "listOffsets", "alterOffsets", "version"}
_MIRROR_KEYS = {
    *("sourceCluster", "targetCluster", "source", "sourceConnector", "checkpointConnector", "heartbeatConnector"),
    *("topicsPattern", "topicsBlacklistPattern", "topicsExcludePattern", "groupsPattern", "groupsExcludePattern"),
}
_CLASSES = {
    "sourceConnector": "MirrorSourceConnector",
    "checkpointConnector": "MirrorCheckpointConnector",
    "heartbeatConnector": "MirrorHeartbeatConnector",
}
_OFFSETS, _OFFSETS_OF = "strimzi.io/connector-offsets", "strimzi.io/mirrormaker-connector"


class StrimziApi:
    """The state of the cluster, and its operator.

    :param mirror: of ``spec.mirrors``, in ``v1beta2``
    :param version: of the API that serves the resource
    """

    def __init__(self, mirror: dict[str, Any], *, version: str = "v1beta2") -> None:
        clusters = [{"alias": "east"}, {"alias": "west", "config": {"group.id": "mm2-west"}}]
        spec: dict[str, Any] = {"connectCluster": "west", "clusters": clusters, "mirrors": [mirror]}
        if version == "v1":
            spec = {"target": {"alias": "west", "groupId": "mm2-west"}, "mirrors": [_as_v1(mirror)]}
        self.resource: dict[str, Any] = {
            "apiVersion": f"kafka.strimzi.io/{version}",
            "kind": "KafkaMirrorMaker2",
            "metadata": {"name": "my-mm2", "namespace": "kafka", "generation": 1, "resourceVersion": "1"},
            "spec": spec,
        }
        self.paths = {f"/apis/kafka.strimzi.io/{version}/namespaces/kafka/kafkamirrormaker2s/my-mm2": "resource"}
        self.config_maps: dict[str, dict[str, Any]] = {}
        #: What Connect keeps for the source connector: the offset of the last record, by topic and partition.
        self.offsets: dict[tuple[str, int], int] = {}
        self.operator_runs = True
        #: How many replacements of the resource somebody else is faster than.
        self.faster = 0
        #: The connectors whose tasks fail whenever they run, and those whose tasks have failed until they are stopped.
        self.failing: set[str] = set()
        self.failed: set[str] = set()
        self.requests: list[tuple[str, str]] = []
        self.reconcile()

    def reconcile(self) -> None:
        """Carry out what is declared, as the operator does after each change."""
        if not self.operator_runs:
            return
        metadata = self.resource["metadata"]
        conditions: list[dict[str, str]] = [{"type": "Ready", "status": "True"}]
        annotations = metadata.get("annotations") or {}
        if verb := annotations.get(_OFFSETS):
            if warning := self._manage_offsets(verb, annotations.get(_OFFSETS_OF, "")):
                reason = "ListOffsets" if verb == "list" else "AlterOffsets"
                conditions.append({"type": "Warning", "status": "True", "reason": reason, "message": warning})
            else:
                annotations.pop(_OFFSETS)
                annotations.pop(_OFFSETS_OF)
        self.resource["status"] = {
            "observedGeneration": metadata["generation"],
            "conditions": conditions,
            "connectors": [self._shown(name, spec) for name, spec in self._connectors().items()],
        }
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)

    def _shown(self, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        state = spec.get("state", "paused" if spec.get("pause") else "running").upper()
        if state == "STOPPED":
            self.failed.discard(name)
        task = "FAILED" if state == "RUNNING" and name in self.failing | self.failed else state
        shown = {"state": task, **({"trace": TRACE} if task == "FAILED" else {})}
        tasks = [] if state == "STOPPED" else [{"id": n, **shown} for n in range(spec.get("tasksMax", 1))]
        return {"name": name, "type": "source", "connector": {"state": state, "worker_id": "w"}, "tasks": tasks}

    def _connectors(self) -> dict[str, dict[str, Any]]:
        (mirror,) = self.resource["spec"]["mirrors"]
        source = mirror.get("sourceCluster") or mirror["source"]["alias"]
        return {f"{source}->west.{_CLASSES[key]}": mirror[key] for key in _CLASSES if key in mirror}

    def _manage_offsets(self, verb: str, name: str) -> str:
        """List or alter offsets; return why that cannot be done, or nothing."""
        connector, entry = self._connectors().get(name), f"{name.replace('->', '--')}.json"
        if connector is None:
            return f"there is no connector {name}"
        asked = connector.get("listOffsets" if verb == "list" else "alterOffsets")
        if asked is None:
            return f"missing property in {name}"
        if verb == "list":
            rows = [
                {"partition": {"cluster": "east", "partition": n, "topic": t}, "offset": {"offset": at}}
                for (t, n), at in self.offsets.items()
            ]
            self.config_maps[asked["toConfigMap"]["name"]] = {"data": {entry: json.dumps({"offsets": rows})}}
            return ""
        if connector.get("state") != "stopped":
            return "the connector is not stopped"
        given = self.config_maps.get(asked["fromConfigMap"]["name"], {}).get("data", {}).get(entry)
        if given is None:
            return f"the ConfigMap has no entry {entry}"
        for row in json.loads(given)["offsets"]:
            key = (row["partition"]["topic"], row["partition"]["partition"])
            self.offsets.pop(key, None)
            if row["offset"] is not None:
                self.offsets[key] = row["offset"]["offset"]
        return ""

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Answer a request as an API server would."""
        self.requests.append((method, path))
        if path in self.paths:
            return (200, self.resource) if method == "GET" else self._replaced(body)
        begin = "/api/v1/namespaces/kafka/configmaps"
        if path == begin and method == "POST":
            self.config_maps[body["metadata"]["name"]] = body
            return 201, body
        if path.startswith(f"{begin}/"):
            name = path.removeprefix(f"{begin}/")
            if name not in self.config_maps:
                return 404, _status("not found")
            if method == "PUT":
                self.config_maps[name] = body
            return 200, self.config_maps[name]
        return 404, _status("not found")

    def _replaced(self, body: Any) -> tuple[int, Any]:
        stored = self.resource["metadata"]
        if self.faster:
            self.faster -= 1
            stored["resourceVersion"] = str(int(stored["resourceVersion"]) + 1)
        if body["metadata"].get("resourceVersion") != stored["resourceVersion"]:
            return 409, _status("the object has been modified; apply your changes to the latest version")
        if wrong := _unknown_keys(body["spec"]):
            return 422, _status(f"unknown field {wrong}")
        if body["spec"] != self.resource["spec"]:
            body["metadata"]["generation"] = stored["generation"] + 1
        self.resource = {**body, "status": self.resource.get("status", {})}
        self.resource["metadata"]["resourceVersion"] = str(int(stored["resourceVersion"]) + 1)
        answer = copy.deepcopy(self.resource)
        self.reconcile()
        return 200, answer


def _as_v1(mirror: dict[str, Any]) -> dict[str, Any]:
    found = {key: value for key, value in mirror.items() if key not in ("sourceCluster", "targetCluster")}
    return {"source": {"alias": mirror["sourceCluster"]}, **found}


def _unknown_keys(spec: dict[str, Any]) -> str:
    for mirror in spec["mirrors"]:
        for key, value in mirror.items():
            if key not in _MIRROR_KEYS:
                return str(key)
            if key in _CLASSES and (wrong := sorted(value.keys() - _CONNECTOR_KEYS)):
                return f"{key}.{wrong[0]}"
    return ""


def _status(message: str) -> dict[str, str]:
    return {"kind": "Status", "status": "Failure", "message": message}


@contextmanager
def served(api: StrimziApi) -> Iterator[str]:
    """Serve it on this machine, and return its address."""

    class KubernetesHandler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                status, found = 401, _status("Unauthorized")
            else:
                with lock:
                    status, found = api.answer(self.command, self.path, body)
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = _answer

        def log_message(self, *_: object) -> None:
            pass

    lock = threading.Lock()
    server = ThreadingHTTPServer(("127.0.0.1", 0), KubernetesHandler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
