from __future__ import annotations

import os
import socket

import pytest

from lab.errors import LabError
from lab.ports import check_free


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
