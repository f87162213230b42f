"""A lab of two brokers a cluster: the broker of a register can die, and the cluster still takes writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.api import Lab
from support import free_ports
from support.disaster import adopted
from support.protection import Protection
from support.register_faults import RegisterFault
from support.run_end import RUNNING_PAIRS
from support.switched_group import SwitchedGroup


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory, folder_end: ExitStack) -> Lab:
    """Both clusters of two brokers, and Connect. ``KAFKA_DR_TEST_PAIRS`` names the folder of a running one."""
    if running := os.environ.get(RUNNING_PAIRS):
        return Lab(Path(running))
    below = int(os.environ.get("KAFKA_DR_TEST_PORT_BASE", "29000"))
    base = free_ports.port_base(range(below - 1000, 10000, -1000))
    lab = Lab(
        tmp_path_factory.mktemp("pairs") / "home",
        port_base=base,
        brokers=2,
        mechanism="PLAIN",
        kafka=os.environ.get("KAFKA_DR_TEST_KAFKA"),
    )
    folder_end.callback(lab.down, delete=True)
    lab.up(airflow=False)
    return lab


@pytest.fixture
def group(pairs: Lab, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SwitchedGroup]:
    """An adopted group whose register on east, the active cluster, is about to have a fault."""
    protection = Protection(pairs, tmp_path)
    fault: type[RegisterFault] = request.getfixturevalue("kind")
    fault(protection, "east").prepare()
    try:
        yield adopted(protection)
    finally:
        protection.delete_flows()
