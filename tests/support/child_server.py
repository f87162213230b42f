"""Servers that a test starts for itself, on ports of the loopback that nobody listens on."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """Return a port that is free now, for TCP and for UDP."""
    while True:
        with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            stream.bind(("127.0.0.1", 0))
            port: int = stream.getsockname()[1]
            try:
                datagrams.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@contextmanager
def running(*command: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends.

    :param log: what it writes
    """
    with log.open("ab") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            yield process
        finally:
            process.kill()
