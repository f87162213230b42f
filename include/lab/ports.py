"""Taken ports are found before anything starts."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress

import psutil

from lab.errors import LabError
from lab.layout import LOOPBACK


def check_free(ports: Iterable[tuple[int, str]]) -> None:
    """Refuse ports that something else listens on.

    :param ports: each with the name of the process that is to listen there.
    :raises LabError: one is taken; the message names who holds it.
    """
    for port, name in ports:
        if not _is_free(port):
            raise LabError(
                f"port {port}, where {name} is to listen, is taken by {_holder(port)}: "
                "stop that, or choose other ports with --port-base (and another --home to keep this lab)"
            )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _holder(port: int) -> str:
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections("tcp"):
            address = connection.laddr
            if address and address.port == port and connection.status == psutil.CONN_LISTEN and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return "another program"
