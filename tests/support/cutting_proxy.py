"""A proxy on the loopback between this project and a server: it loses answers, or gives none."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal


@dataclass
class CuttingProxy:
    """What is done with connections from now on.

    :param mode: ``pass`` everything; ``cut``: the server gets a request that is concerned, and when it has answered,
        the connection ends instead; ``hang``: nothing is passed on, and nothing answered
    :param concerned: which requests ``cut`` is about, by their bytes
    :param reaches: whether a request that is cut reaches the server
    :param lost: how many answers were lost
    """

    server: int
    port: int = 0
    mode: Literal["pass", "cut", "hang"] = "pass"
    concerned: Callable[[bytes], bool] = field(default=bool)
    reaches: bool = True
    lost: int = 0

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._passed_on, args=(client,), daemon=True).start()

    def _passed_on(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(("127.0.0.1", self.server)) as server:
            doomed = threading.Event()
            threading.Thread(target=self._answer, args=(server, client, doomed), daemon=True).start()
            while piece := client.recv(65536):
                if self.mode == "cut" and self.concerned(piece):
                    doomed.set()
                    if not self.reaches:
                        self.lost += 1
                        return
                if self.mode != "hang" or doomed.is_set():
                    server.sendall(piece)

    def _answer(self, server: socket.socket, client: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while piece := server.recv(65536):
                if doomed.is_set():
                    self.lost += 1
                    break
                client.sendall(piece)
            client.shutdown(socket.SHUT_RDWR)


@contextmanager
def cutting_proxy(server: int) -> Iterator[CuttingProxy]:
    """Run a proxy in front of a port of the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = CuttingProxy(server, listener.getsockname()[1])
        threading.Thread(target=proxy.serve, args=(listener,), daemon=True).start()
        yield proxy
        listener.shutdown(socket.SHUT_RDWR)
