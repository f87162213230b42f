from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.layout import DEFAULT_PORT_BASE, Ports
from lab.ports import check_free, check_not_ephemeral, ephemeral_ports


def test_a_taken_port_is_refused_by_the_name_of_who_holds_it() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(
            LabError, match=rf"port {port}, where east-broker-1 is to listen, is taken by .*\(pid {os.getpid()}\)"
        ):
            check_free([(port, "east-broker-1")])


def test_a_port_that_was_just_given_back_is_free() -> None:
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as brokers and web servers do
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)), holder.accept()[0]:
            pass
    check_free([(port, "east-broker-1")])


@pytest.mark.parametrize("base", [32_469, 32_768, 50_000, 60_999])
def test_ports_that_the_kernel_gives_to_outgoing_connections_are_refused_with_a_base_that_is_free_of_them(
    base: int,
) -> None:
    with pytest.raises(LabError, match=rf"{base}, and the kernel gives the ports 32768 to 60999.*at most 32468"):
        check_not_ephemeral(Ports(base), ephemeral=(32_768, 60_999))


@pytest.mark.parametrize("base", [1024, DEFAULT_PORT_BASE, 32_468, 61_000])
def test_ports_below_and_above_the_kernels_own_are_welcome(base: int) -> None:
    check_not_ephemeral(Ports(base), ephemeral=(32_768, 60_999))


def test_a_kernel_that_does_not_say_which_ports_are_its_own_refuses_none(tmp_path: Path) -> None:
    assert ephemeral_ports(tmp_path / "missing") is None
    check_not_ephemeral(Ports(40_000), ephemeral=None)


def test_the_kernels_own_ports_are_read_from_the_kernel(tmp_path: Path) -> None:
    said = tmp_path / "ip_local_port_range"
    said.write_text("32768\t60999\n")
    assert ephemeral_ports(said) == (32_768, 60_999)
