"""Confluent Replicator by its documented configuration, on a server that answers as Connect does. No Replicator."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import TopicPartition
from kafka_dr.errors import Refused
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.existing.confluent_replicator import CONNECTOR_CLASS, ConfluentReplicator, copies_topic
from kafka_dr.replication.existing.port import ExistingStatus, PartStatus

P, Q = TopicPartition("orders.payments", 0), TopicPartition("stock.items", 0)
CONFIG = {"connector.class": CONNECTOR_CLASS, "topic.regex": r"orders\..*", "src.consumer.group.id": "copier"}


class OneConnector:
    """A connector, as Connect answers about it."""

    def __init__(self, config: dict[str, str]) -> None:
        self.config, self.state = config, "RUNNING"
        #: What its task does, if that is something else; until it is stopped.
        self.task = ""

    def answer(self, method: str, path: str) -> tuple[int, Any]:
        if not path.startswith("/connectors/copier"):
            return 404, {"message": "Connector x not found"}
        verb = path.removeprefix("/connectors/copier").strip("/")
        if method == "PUT" and verb in ("stop", "pause", "resume"):
            self.task = "" if verb == "stop" else self.task
            self.state = {"stop": "STOPPED", "pause": "PAUSED", "resume": "RUNNING"}[verb]
            return 202, None
        if verb == "config":
            return 200, self.config
        tasks = [] if self.state == "STOPPED" else [{"id": 0, "state": self.task or self.state, "worker_id": "w"}]
        status = {"name": "copier", "connector": {"state": self.state, "worker_id": "w"}, "tasks": tasks}
        return (200, status) if verb == "status" else (200, {"name": "copier", "config": self.config, "tasks": []})


@contextmanager
def reached(connector: OneConnector, name: str = "copier") -> Iterator[ConfluentReplicator]:
    class ReplicatorHandler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            status, found = connector.answer(self.command, self.path)
            content = b"" if found is None else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = _answer

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), ReplicatorHandler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    clock = SystemClock()
    with ConnectClient(HttpEndpoint(f"http://127.0.0.1:{server.server_address[1]}"), clock=clock) as connect:
        yield ConfluentReplicator(
            connect, name, owns=lambda t: t.startswith("orders."), committed=lambda _: {P: 9, Q: 4}, clock=clock
        )
    server.shutdown()
    server.server_close()


def test_it_is_stopped_and_resumed_as_it_was() -> None:
    connector = OneConnector(CONFIG)
    with reached(connector) as existing:
        before = existing.status()
        assert existing.stop(5).at_rest
        assert existing.stop(5).at_rest
        assert existing.resume(before, 5).state_of("copier") == "running"
        assert existing.resume(ExistingStatus((PartStatus("copier", "paused"),)), 5).state_of("copier") == "paused"
        existing.stop(5)
        assert existing.resume(ExistingStatus((PartStatus("copier", "stopped"),)), 5).at_rest, "it was stopped before"
        assert connector.state == "STOPPED"


def test_one_that_has_failed_since_runs_again_and_one_that_is_gone_stays_so() -> None:
    connector = OneConnector(CONFIG)
    with reached(connector) as existing:
        was = existing.status()
        connector.task = "FAILED"
        assert existing.resume(was, 5).state_of("copier") == "running"
    with reached(connector, "other") as existing:
        assert existing.resume(ExistingStatus((PartStatus("other", "running"),)), 5).is_gone


def test_it_says_how_far_it_has_read_and_takes_no_positions() -> None:
    with reached(OneConnector(CONFIG)) as existing:
        able = existing.abilities()
        assert (able.positions.can, able.exactly_once.can, able.seed.can) == (True, False, False)
        assert "as copier" in able.positions.reason
        assert existing.positions() == {P: 9}
        assert existing.uncopied([P, Q]) == (Q,)
        with pytest.raises(Refused, match="takes no positions"):
            existing.seed({P: 1})
        with pytest.raises(Refused, match="cannot be deleted: its principal is denied"):
            existing.remove()
    with reached(OneConnector({**CONFIG, "offset.topic.commit": "false"})) as existing:
        assert existing.positions() is None
        assert existing.abilities().positions.reason == "offset.topic.commit is false"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ()),
        ({"topic.rename.format": "${topic}"}, ()),
        ({"topic.rename.format": "${topic}.replica"}, ("names copies by ${topic}.replica",)),
        ({"provenance.header.enable": "true"}, ("adds a header to each copy",)),
        ({"topic.preserve.partitions": "false"}, ("does not keep the partition",)),
        ({"transforms": "a"}, ("changes records by transforms (a)",)),
        ({"topic.whitelist": "stock.items"}, ("also copies stock.items",)),
        ({"topic.whitelist": "stock.items", "topic.blacklist": "stock.items"}, ()),
        ({"topic.regex": "("}, ("topic.regex of copier cannot be read here",)),
        ({"connector.class": "x.Other"}, ("is a x.Other, expected io.confluent",)),
    ],
)
def test_what_speaks_against_it_is_named(changes: dict[str, str], said: tuple[str, ...]) -> None:
    with reached(OneConnector({**CONFIG, **changes})) as existing:
        found = existing.unfit(["orders.payments", "stock.items", "__consumer_offsets"])
    assert len(found) == len(said), found
    assert all(words in each for words, each in zip(said, found, strict=True)), found


def test_a_name_that_connect_does_not_know_is_absent() -> None:
    with reached(OneConnector(CONFIG), name="other") as existing:
        assert "there is no connector other" in existing.unfit([])[0]


@pytest.mark.parametrize(
    ("topic", "copied"),
    [("topic1", True), ("topic2", True), ("topic3", True), ("topic4", False), ("topic22", False)],
)
def test_topics_are_chosen_as_its_reference_says(topic: str, copied: bool) -> None:
    config = {"topic.whitelist": "topic1", "topic.regex": "topic[2,3,4]", "topic.blacklist": "topic4"}
    assert copies_topic(config, topic) is copied
