"""What a vantage of ours says of clusters: what answers, what is silent, and what it cannot know."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from kafka_dr import vantage_server
from kafka_dr.disaster.vantage import probe_vantage
from kafka_dr.vantage_server import BrokerAddress, Lookout, Sighting, ask, judged, of_cluster, question, server
from support.manual_clock import ManualClock

UP, DOWN, UNKNOWN = (
    Sighting("up"),
    Sighting("down", "nothing listens there"),
    Sighting("unknown", "the host name is unknown here"),
)
ONE, TWO = BrokerAddress("one", 9092), BrokerAddress("two", 9092)
EAST, WEST = BrokerAddress("east", 9092), BrokerAddress("west", 9092)
SECONDS = 1.0
#: What a broker of Kafka 4.3 begins its answer with: the number of the question, and no error.
ANSWER = question()[8:12] + struct.pack(">hi", 0, 0)


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@contextmanager
def listening(answer: bytes | None) -> Iterator[BrokerAddress]:
    """Something that takes a question and answers this; nothing at all if ``None``, and it closes if it is empty."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    taken, _ = listener.accept()
                except OSError:
                    return
                held.append(taken)
                if answer is None:
                    continue
                taken.recv(1024)
                if answer:
                    taken.sendall(answer)
                taken.close()

        held: list[socket.socket] = []
        Thread(target=serve, daemon=True).start()
        yield BrokerAddress("127.0.0.1", listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        for each in held:
            each.close()


@pytest.mark.parametrize(
    ("brokers", "answer"),
    [
        ({ONE: DOWN, TWO: UP}, "up"),
        ({ONE: UNKNOWN, TWO: UP}, "up"),
        ({ONE: DOWN, TWO: UNKNOWN}, "unknown"),
        ({ONE: DOWN, TWO: DOWN}, "down"),
    ],
)
def test_one_broker_that_answers_is_enough_and_one_that_is_unknown_leaves_it_open(
    brokers: dict[BrokerAddress, Sighting], answer: str
) -> None:
    assert of_cluster(brokers).answer == answer


def test_a_cluster_is_down_only_where_it_has_answered_before_and_another_one_answers_now() -> None:
    silent = {"east": DOWN, "west": UP}
    assert judged("east", silent, frozenset({"east"})).answer == "down"
    never = judged("east", silent, frozenset({"west"}))
    assert (never.answer, "has never answered since this vantage was started" in never.why) == ("unknown", True)
    alone = judged("east", {"east": DOWN, "west": DOWN}, frozenset({"east", "west"}))
    assert (alone.answer, "the network of this vantage" in alone.why) == ("unknown", True)
    assert judged("east", {"east": UNKNOWN, "west": UP}, frozenset({"east"})) == UNKNOWN
    assert judged("west", silent, frozenset()) == UP


def test_a_broker_that_answers_is_up_whatever_it_answers() -> None:
    refusal = ANSWER[:4] + struct.pack(">hi", 35, 0)
    for said in (ANSWER, refusal):
        with listening(framed(said)) as broker:
            assert ask(broker, seconds=SECONDS) == UP


def test_silence_is_down_and_a_stranger_is_unknown() -> None:
    began = time.monotonic()
    with listening(None) as hangs:
        assert ask(hangs, seconds=0.2) == Sighting("down", "no answer within 0.2 s")
    assert time.monotonic() - began < 5
    with listening(b"") as closes:
        assert ask(closes, seconds=SECONDS) == Sighting("down", "the connection was closed")
    assert ask(BrokerAddress("127.0.0.1", unused_port()), seconds=SECONDS) == DOWN
    for stranger in (b"HTTP/1.1 400 Bad Request\r\n\r\n", framed(b"\0" * 10), struct.pack(">i", -1)):
        with listening(stranger) as web:
            assert ask(web, seconds=SECONDS) == Sighting("unknown", "something else than a broker answers")
    assert ask(BrokerAddress("nobody.invalid", 9092), seconds=SECONDS) == UNKNOWN


def test_an_answer_that_comes_byte_by_byte_has_no_more_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            taken, _ = listener.accept()
            with taken:
                try:
                    for each in framed(ANSWER):
                        taken.sendall(bytes([each]))
                        time.sleep(0.1)
                except OSError:
                    return

        Thread(target=drip, daemon=True).start()
        found = ask(BrokerAddress("127.0.0.1", listener.getsockname()[1]), seconds=0.4)
    assert found == Sighting("down", "no answer within 0.4 s")


def test_brokers_whose_tls_is_not_accepted_are_unknown() -> None:
    with listening(framed(ANSWER)) as plain:
        found = ask(plain, seconds=SECONDS, tls=ssl.create_default_context())
    assert (found.answer, "--tls" in found.why) == ("unknown", True)


class Clusters:
    """Both clusters, as a vantage meets them."""

    def __init__(self) -> None:
        self.seen = {EAST: UP, WEST: UP}
        self.asked = 0
        self.clock = ManualClock()
        self.lookout = Lookout({"east": (EAST,), "west": (WEST,)}, self.ask, self.clock.monotonic)

    def ask(self, address: BrokerAddress) -> Sighting:
        self.asked += 1
        return self.seen[address]


def test_many_who_ask_are_one_question_to_each_broker_and_later_it_is_asked_again() -> None:
    world = Clusters()
    assert [world.lookout.see("east").answer for _ in range(5)] == ["up"] * 5
    assert world.asked == 2
    world.seen[EAST] = DOWN
    world.clock.sleep(2)
    assert (world.lookout.see("east").answer, world.lookout.see("west").answer, world.asked) == ("down", "up", 4)


@pytest.fixture
def serve() -> Iterator[Callable[[Lookout], str]]:
    """Serve a lookout; the address, as a topology has it."""
    serving = []

    def served(lookout: Lookout) -> str:
        serving.append(server(lookout, BrokerAddress("127.0.0.1", 0)))
        Thread(target=serving[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{serving[-1].server_address[1]}/clusters/{{cluster}}"

    yield served
    for each in serving:
        each.shutdown()
        each.server_close()


def test_the_probe_of_a_disaster_understands_each_answer(serve: Callable[[Lookout], str]) -> None:
    world = Clusters()
    address = serve(world.lookout)

    def probe(cluster: str = "east") -> tuple[str, str]:
        world.clock.sleep(2)
        found = probe_vantage("office", address, cluster, 5)
        return found.outcome, found.detail

    assert probe() == ("ok", "office sees east up")
    world.seen[EAST] = DOWN
    assert probe() == ("failed", "office sees east down")
    world.seen[WEST] = DOWN
    outcome, detail = probe()
    assert (outcome, "503: no cluster answers, so the network of this vantage may be the reason" in detail) == (
        "unknown",
        True,
    )
    outcome, detail = probe("north")
    assert (outcome, "does not know that cluster" in detail) == ("unknown", True)


def test_it_runs_by_itself_from_one_file_and_needs_two_clusters() -> None:
    assert vantage_server.__file__ is not None
    script, port = Path(vantage_server.__file__), unused_port()

    def command(*arguments: str) -> list[str]:
        return [sys.executable, "-I", str(script), "--listen", f"127.0.0.1:{port}", *arguments]

    alone = subprocess.run(command("east=127.0.0.1:1"), capture_output=True, text=True, timeout=60, check=False)
    assert (alone.returncode, "name two clusters or more" in alone.stderr) == (1, True)
    with (
        listening(framed(ANSWER)) as broker,
        subprocess.Popen(
            command(f"east=127.0.0.1:{unused_port()},{broker}", "west=127.0.0.1:1"), stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        try:
            assert json.load(_answer(f"http://127.0.0.1:{port}/east")) == {"up": True}
            with pytest.raises(HTTPError, match="west has never answered"):
                urlopen(f"http://127.0.0.1:{port}/west", timeout=5)
        finally:
            process.kill()


def _answer(address: str, seconds: float = 20.0) -> Any:
    until = time.monotonic() + seconds
    while True:
        try:
            return urlopen(address, timeout=5)  # noqa: S310
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
