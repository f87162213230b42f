"""The proxy before a cluster, with plain sockets on both ends."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from lab import proxy
from lab.context import LabContext
from lab.credentials import Credentials
from lab.errors import LabError
from lab.layout import LOOPBACK, Home, Settings
from lab.processes import Supervisor
from support import free_ports
from support.waiting import eventually

SETTINGS = Settings(port_base=free_ports.port_base(range(30000, 20000, -1000)), brokers=1, proxied=True)
SILENCE_SECONDS = 0.5


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Iterator[proxy.LabProxy]:
    """The proxy of a lab whose brokers say everything twice."""
    part = proxy.LabProxy(LabContext(Home(tmp_path_factory.mktemp("lab")), SETTINGS, Credentials({})))
    supervisor = Supervisor(part.context.home)
    with socket.create_server((LOOPBACK, _port("outside_port"))) as inside:
        Thread(target=_say_twice, args=(inside,), daemon=True).start()
        supervisor.start(part.command())
        try:
            eventually(part.heal_all)
            yield part
        finally:
            supervisor.stop(proxy.NAME)


@pytest.fixture
def called(part: proxy.LabProxy) -> Iterator[socket.socket]:
    """A connection through the proxy that works."""
    assert part.heal_all()
    with _call() as connection:
        assert _said(connection, b"hello") == b"hellohello"
        yield connection
    east("heal")
    east("delay", "0")


def east(*words: str) -> None:
    proxy.control(SETTINGS, "east", *words)


def _port(kind: str) -> int:
    (east, *_) = LabContext(Home(Path()), SETTINGS, Credentials({})).clusters
    return int(getattr(east.nodes(SETTINGS)[0], kind))


def _call(seconds: float = 10.0) -> socket.socket:
    return socket.create_connection((LOOPBACK, _port("proxy_port")), timeout=seconds)


def _say_twice(inside: socket.socket) -> None:
    def answer(caller: socket.socket) -> None:
        with caller:
            while said := caller.recv(100_000):
                caller.sendall(said * 2)

    while True:
        try:
            caller, _ = inside.accept()
        except OSError:
            return
        Thread(target=answer, args=(caller,), daemon=True).start()


def _said(connection: socket.socket, what: bytes) -> bytes:
    connection.sendall(what)
    return _read(connection, 2 * len(what))


def _read(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (more := connection.recv(count)):
        found += more
    return found


def test_a_link_that_is_cut_is_silent_and_what_was_sent_meanwhile_arrives_when_it_is_whole(
    called: socket.socket,
) -> None:
    east("cut")
    called.settimeout(SILENCE_SECONDS)
    with pytest.raises(TimeoutError):
        _said(called, b"is anybody there?")
    east("heal")
    called.settimeout(10)
    assert _read(called, 34) == b"is anybody there?" * 2
    assert _said(called, b"x" * 1_000_000) == b"x" * 2_000_000


def test_new_connections_hang_while_a_link_is_cut_and_those_that_wait_are_answered_after_it(
    called: socket.socket,
) -> None:
    east("cut")
    waiting = []
    for _ in range(4):
        try:
            waiting.append(_call(SILENCE_SECONDS))
        except TimeoutError:
            continue
    assert 1 <= len(waiting) < 4, "neither is each one taken, nor is one refused"
    for each in waiting:
        each.sendall(b"me")
        with pytest.raises(TimeoutError):
            each.recv(1)
    east("heal")
    for each in waiting:
        with each:
            each.settimeout(10)
            assert _read(each, 4) == b"meme"
    with _call() as new:
        assert _said(new, b"new") == b"newnew"


def test_one_that_is_cut_leaves_the_others_whole(called: socket.socket) -> None:
    proxy.control(SETTINGS, "west", "cut")
    assert _said(called, b"east") == b"easteast"
    proxy.control(SETTINGS, "west", "heal")


def test_the_end_of_a_connection_is_forwarded_as_well(called: socket.socket) -> None:
    called.sendall(b"last words")
    called.shutdown(socket.SHUT_WR)
    assert _read(called, 100) == b"last words" * 2


def test_a_delay_counts_each_way(called: socket.socket) -> None:
    east("delay", "150")
    began = time.monotonic()
    assert _said(called, b"far") == b"farfar"
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("words", [("south", "cut"), ("east", "burn"), ("east", "delay", "-1"), ("east",)])
def test_what_it_does_not_understand_is_said(part: proxy.LabProxy, words: tuple[str, ...]) -> None:
    with pytest.raises(LabError, match=f"the proxy says: not understood: {' '.join(words)}"):
        proxy.control(SETTINGS, *words)


def test_without_a_proxy_there_is_nothing_to_cut() -> None:
    with pytest.raises(LabError, match="this lab has no proxy: make one with `up --proxied`"):
        proxy.control(Settings(port_base=19000, brokers=1), "east", "cut")


def test_it_imports_nothing_of_the_lab(part: proxy.LabProxy) -> None:
    assert part.command().argv[:2] == (sys.executable, "-I")
