"""A network of a test's own, in which packets are lost one way; nobody else on the machine loses any."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from support.run_end import RUNNING_LAB

#: Processes of its own, too: whatever happens to the test, they are gone when it is over.
_UNSHARE = ("unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
#: Even what stays on this machine is looked up in its rules first, so that a rule can lose it.
_PREPARE = 'ip link set lo up && ip rule add pref 100 lookup local && ip rule del pref 0 && "$@"'
_LOST = "10"


class NoNetworkOfItsOwn(AssertionError):
    """This machine does not let the test have one; a test that needs it has not passed."""


def run_in_own_network(
    command: Sequence[str], *, environ: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a command that has nothing but a loopback of its own.

    :raises NoNetworkOfItsOwn: the right to that, or a program for it, is missing
    """
    _see_that_it_may()
    return subprocess.run(
        [*_UNSHARE, "sh", "-c", _PREPARE, "sh", *command],
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )


@contextmanager
def answers_lost(port: int) -> Iterator[None]:
    """Lose every packet that comes from a port; what is sent to it arrives."""
    _ip("rule", "add", "pref", _LOST, "ipproto", "tcp", "sport", str(port), "blackhole")
    try:
        yield
    finally:
        _ip("rule", "del", "pref", _LOST)


def _see_that_it_may() -> None:
    lose = f"ip rule add pref {_LOST} ipproto tcp sport 1 blackhole"
    try:
        tried = subprocess.run(
            [*_UNSHARE, "sh", "-c", _PREPARE, "sh", *lose.split()],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        said = "" if tried.returncode == 0 else tried.stderr.strip() or f"it ended with {tried.returncode}"
    except FileNotFoundError as error:
        said = str(error)
    if said:
        raise NoNetworkOfItsOwn(
            f"no network namespace with rules by port can be made here ({said}): run this test as root or where "
            "users may make namespaces, with util-linux and iproute2 installed"
        )


def _ip(*arguments: str) -> None:
    command = ["ip", *arguments]
    subprocess.run(command, check=True, timeout=60)


def environ_for_inside() -> dict[str, str]:
    """Return the environment of tests that run inside: a lab that runs outside cannot be reached from there."""
    return {name: value for name, value in os.environ.items() if name != RUNNING_LAB}
