"""An API server for KafkaUser resources, and an operator that applies them to a real broker, as Strimzi does.

It is no Kubernetes. It does what the project under test relies on, by the published definition of the resource
(``kafkausers.kafka.strimzi.io``): real HTTP with a token, ``resourceVersion`` compared at each replacement, a
generation that rises with the spec, a status that only the operator writes; values that the definition does not allow
are refused.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.acl_reconciler import Pipeline, Rule

TOKEN = "the-token-of-a-service-account"
_OPERATIONS = (
    *("Read", "Write", "Create", "Delete", "Alter", "Describe", "ClusterAction"),
    *("AlterConfigs", "DescribeConfigs", "IdempotentWrite", "All"),
)
_TYPES = ("topic", "group", "cluster", "transactionalId")
_KINDS = {"transactionalId": "transactional_id"}


@dataclass
class UsersApi:
    """The resources of one namespace, and the server that serves them.

    :param apply: makes a broker's ACLs equal to rules
    :param every: seconds between two rounds of the operator
    """

    apply: Callable[[set[Rule]], None]
    every: float = 0.3
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Called with each replacement before it is compared: what others do at that moment.
    on_replace: Callable[[str], None] = lambda _: None
    #: The methods and names of all requests that were answered.
    asked: list[tuple[str, str]] = field(default_factory=list)
    _version: int = 100
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _server: ThreadingHTTPServer | None = None

    @property
    def address(self) -> str:
        """Where it is."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}"

    def put(self, name: str, spec: dict[str, Any]) -> None:
        """Create or replace a resource, as its owners do."""
        with self._lock:
            self._version += 1
            found = self.resources.get(name, {"metadata": {"name": name, "generation": 0, "annotations": {}}})
            metadata = {**found["metadata"], "resourceVersion": str(self._version)}
            metadata["generation"] += found.get("spec") != spec
            self.resources[name] = {**found, "metadata": metadata, "spec": copy.deepcopy(spec)}

    def reconcile(self) -> None:
        """Apply every resource once, and write what was seen into its status."""
        with self._lock:
            seen = copy.deepcopy(self.resources)
        self.apply({rule for name, each in seen.items() for rule in rules(name, each["spec"])})
        with self._lock:
            for name, each in seen.items():
                ready = {"type": "Ready", "status": "True"}
                status = {"observedGeneration": each["metadata"]["generation"], "conditions": [ready], "username": name}
                if self.resources[name].get("status") != status:
                    self._version += 1
                    self.resources[name]["metadata"]["resourceVersion"] = str(self._version)
                self.resources[name]["status"] = status

    @contextmanager
    def running(self, *, operator: bool = True) -> Iterator[UsersApi]:
        """Serve, and let the operator work."""
        api = self

        class UsersHandler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer("GET", None)

            def do_PUT(self) -> None:
                self._answer("PUT", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, method: str, body: Any) -> None:
                allowed = self.headers.get("Authorization") == f"Bearer {TOKEN}"
                code, found = api.answer(method, self.path, body) if allowed else (401, {"message": "Unauthorized"})
                content = json.dumps(found).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), UsersHandler)
        stop = threading.Event()

        def work() -> None:
            while not stop.wait(self.every):
                self.reconcile()

        threads = [threading.Thread(target=self._server.serve_forever, args=(0.05,))]
        threads += [threading.Thread(target=work)] if operator else []
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            stop.set()
            self._server.shutdown()
            self._server.server_close()
            for thread in threads:
                thread.join()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        """Return the status code and the answer to a request."""
        kind, _, name = path.rpartition("/")
        if kind != "/apis/kafka.strimzi.io/v1/namespaces/kafka/kafkausers" or name not in self.resources:
            return 404, {"message": f'kafkausers.kafka.strimzi.io "{name}" not found'}
        self.asked.append((method, name))
        if method == "PUT":
            self.on_replace(name)
        with self._lock:
            found = self.resources[name]
            if method == "GET":
                return 200, copy.deepcopy(found)
            if body["metadata"].get("resourceVersion") != found["metadata"]["resourceVersion"]:
                return 409, {"message": "the object has been modified; please apply your changes to the latest version"}
            if wrong := refusal(body.get("spec")):
                return 422, {"message": f"KafkaUser {name} is invalid: {wrong}"}
            self.put(name, body["spec"])
            self.resources[name]["metadata"]["annotations"] = body["metadata"].get("annotations", {})
            return 200, copy.deepcopy(self.resources[name])


def users_of(rights: set[Rule]) -> dict[str, dict[str, Any]]:
    """Return the specs of the users that have these rules, by name."""
    words = {kind: word for word, kind in _KINDS.items()}
    specs: dict[str, dict[str, Any]] = {}
    for kind, name, pattern, principal, host, operation, permission in sorted(rights):
        spec = specs.setdefault(principal.removeprefix("User:"), {"authorization": {"type": "simple", "acls": []}})
        resource = {"type": words.get(kind, kind), "name": name, "patternType": pattern.replace("prefixed", "prefix")}
        operations = ["".join(part.capitalize() for part in operation.split("_"))]
        spec["authorization"]["acls"].append(
            {"type": permission, "resource": resource, "operations": operations, "host": host}
        )
    return specs


def rules(name: str, spec: dict[str, Any]) -> Iterator[Rule]:
    """Yield the rules that a user's spec gives it."""
    for row in spec.get("authorization", {}).get("acls", ()):
        resource = row["resource"]
        for word in row["operations"]:
            operation = "".join(f"_{each.lower()}" if each.isupper() else each for each in word).strip("_")
            yield (
                _KINDS.get(resource["type"], resource["type"]),
                resource["name"],
                resource.get("patternType", "literal").replace("prefix", "prefixed"),
                f"User:{name}",
                row.get("host", "*"),
                operation,
                row.get("type", "allow"),
            )


def refusal(spec: Any) -> str:
    """Say what the definition of the resource does not allow; empty if all is allowed."""
    if not isinstance(spec, dict):
        return "spec: Required value"
    authorization = spec.get("authorization")
    if authorization is None:
        return ""
    if authorization.get("type") != "simple" or not isinstance(authorization.get("acls"), list):
        return "spec.authorization: type has to be simple, and acls an array"
    for row in authorization["acls"]:
        resource = row.get("resource", {})
        known = (
            row.get("type", "allow") in ("allow", "deny"),
            resource.get("type") in _TYPES,
            resource.get("patternType", "literal") in ("literal", "prefix"),
            isinstance(row.get("operations"), list) and set(row["operations"]) <= set(_OPERATIONS),
            set(row) <= {"type", "resource", "operations", "host"} and set(resource) <= {"type", "name", "patternType"},
        )
        if not all(known):
            return f"spec.authorization.acls: Unsupported value: {json.dumps(row)}"
    return ""


def pipeline_of(settings: dict[str, Any], scope: tuple[str, ...]) -> Callable[[set[Rule]], None]:
    """Return what makes a broker's ACLs equal to rules."""
    return Pipeline(settings, scope).apply
