"""Taken ports are found before anything starts."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from lab.errors import LabError
from lab.layout import LOOPBACK, Ports

#: Where Linux says from which ports it takes one for an outgoing connection, both ends included (``ip(7)``).
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def check_not_ephemeral(ports: Ports, *, ephemeral: tuple[int, int] | None) -> None:
    """Refuse ports that the kernel gives to outgoing connections: a broker that restarts there can find its port taken.

    :param ports: of the lab
    :param ephemeral: the first and the last of the kernel's own ports; ``None`` where it does not say
    :raises LabError: the ranges overlap; the message names a base that is free of it
    """
    if ephemeral is None:
        return
    first, last = ephemeral
    if ports.base <= last and ports.base + ports.span > first:
        raise LabError(
            f"--port-base is {ports.base}, and the kernel gives the ports {first} to {last} to outgoing connections, "
            f"so a process that restarts there can find its port taken: choose a base of at most {first - ports.span}"
        )


def ephemeral_ports(path: Path = _EPHEMERAL) -> tuple[int, int] | None:
    """Return the first and the last port that the kernel gives to outgoing connections; ``None`` if it does not say."""
    try:
        first, last = map(int, path.read_text().split())
    except (OSError, ValueError):
        return None
    return first, last


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


def first_free_base(bases: Iterable[int], span: int) -> int:
    """Return the first of several bases where nobody listens on any port of a lab.

    :param bases: first ports of ranges, the preferred one first
    :param span: how many ports from each base on have to be free
    :raises LabError: each range has a port that is taken
    """
    listening = {
        connection.laddr.port
        for connection in psutil.net_connections("tcp")
        if connection.laddr and connection.status == psutil.CONN_LISTEN
    }
    tried = list(bases)
    for base in tried:
        if listening.isdisjoint(range(base, base + span)):
            return base
    raise LabError(f"somebody listens on ports of each range that begins at {tried}: stop what is no longer needed")


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
