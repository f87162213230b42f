"""Connectors of a Connect cluster in memory, over real HTTP: what they do, and the offsets that they keep.

It keeps the rules that an adapter relies on: only a stopped connector takes offsets; one that is resumed keeps its
failed tasks, until it was stopped; what is not there answers 404. It is no Connect.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from kafka_dr.clock import SystemClock
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.connect import ConnectClient

#: What a task fails with: what it was doing, and the cause of it.
TRACE = "a.ConnectException: Failed to send\n\tat b\nCaused by: c.RecordTooLargeException: 18 MB\n\tat d"
_STATES = {"stop": "STOPPED", "pause": "PAUSED", "resume": "RUNNING"}


class ConnectApi:
    """The connectors, each with one task.

    :param configs: of each connector, by name
    """

    def __init__(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        self.configs = {name: dict(config) for name, config in configs.items()}
        self.states = dict.fromkeys(configs, "RUNNING")
        #: The connectors whose task has failed.
        self.failed: set[str] = set()
        #: By connector, topic and partition: the offset of the last record.
        self.offsets: dict[str, dict[tuple[str, int], int]] = {name: {} for name in configs}
        self.requests: list[tuple[str, str]] = []

    def asked(self, method: str, end: str) -> int:
        """Return how often a path that ends so was asked for."""
        return sum(1 for each, path in self.requests if each == method and path.endswith(end))

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Answer a request as Connect would."""
        self.requests.append((method, path))
        name, _, verb = unquote(path.removeprefix("/connectors/")).partition("/")
        if name not in self.configs:
            return 404, {"message": f"Connector {name} not found"}
        if method == "PUT" and verb in _STATES:
            self.states[name] = _STATES[verb]
            if verb == "stop":
                self.failed.discard(name)
            return 202, None
        if method == "DELETE" and not verb:
            del self.configs[name]
            return 204, None
        if verb == "offsets":
            return self._listed(name) if method == "GET" else self._changed(name, body)
        if verb == "config":
            return 200, self.configs[name]
        return 200, self._status(name) if verb == "status" else {"name": name, "tasks": self._tasks(name)}

    def _tasks(self, name: str) -> list[dict[str, Any]]:
        if self.states[name] == "STOPPED":
            return []
        state = "FAILED" if name in self.failed else self.states[name]
        return [{"id": 0, "state": state, "worker_id": "w", **({"trace": TRACE} if state == "FAILED" else {})}]

    def _status(self, name: str) -> dict[str, Any]:
        connector = {"state": self.states[name], "worker_id": "w"}
        return {"name": name, "connector": connector, "tasks": self._tasks(name)}

    def _listed(self, name: str) -> tuple[int, Any]:
        rows = [
            {"partition": {"cluster": "east", "partition": number, "topic": topic}, "offset": {"offset": at}}
            for (topic, number), at in sorted(self.offsets[name].items())
        ]
        return 200, {"offsets": rows}

    def _changed(self, name: str, body: Any) -> tuple[int, Any]:
        if self.states[name] != "STOPPED":
            return 400, {"message": "Connectors must be in the STOPPED state before their offsets can be modified"}
        for row in body["offsets"]:
            key = (row["partition"]["topic"], row["partition"]["partition"])
            self.offsets[name].pop(key, None)
            if row["offset"] is not None:
                self.offsets[name][key] = row["offset"]["offset"]
        return 200, {"message": "The offsets for this connector have been altered successfully"}


@contextmanager
def reached_connect(api: ConnectApi) -> Iterator[ConnectClient]:
    """Serve it on this machine, and return a client that asks it."""

    class ConnectHandler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            status, found = api.answer(self.command, self.path, json.loads(self.rfile.read(length) or b"null"))
            content = b"" if found is None else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_PATCH = do_DELETE = _answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), ConnectHandler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        with ConnectClient(HttpEndpoint(f"http://127.0.0.1:{server.server_address[1]}"), clock=SystemClock()) as client:
            yield client
    finally:
        server.shutdown()
        server.server_close()
