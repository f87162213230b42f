from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.api import Lab
from support.existing_flow import CONNECTION, ExistingFlow, OldWorker, old_worker
from support.named_group import NamedProtection
from support.protection import Protection

#: Above the ports of the shared lab and of the clusters of two brokers.
_PORT = 790


@pytest.fixture(scope="session")
def worker(lab: Lab, tmp_path_factory: pytest.TempPathFactory, port_base: int, folder_end: ExitStack) -> OldWorker:
    """Somebody else's Connect worker, for the tests of this folder."""
    folder = tmp_path_factory.mktemp("old-worker")
    return folder_end.enter_context(old_worker(lab, folder, port_base + _PORT))


@pytest.fixture
def separator(request: pytest.FixtureRequest) -> str:
    """What is between the names of cluster and topic in that of a copy; empty: a copy has its original's name."""
    return str(getattr(request, "param", ""))


@pytest.fixture
def protection(tmp_path: Path, lab: Lab, separator: str) -> Iterator[Protection]:
    """A protection group of the test's own, with its rights and topics on both clusters; not adopted yet."""
    made = NamedProtection(lab, tmp_path) if separator else Protection(lab, tmp_path)
    if isinstance(made, NamedProtection):
        made.name_copies(separator)
    made.create()
    try:
        yield made
    finally:
        made.delete_flows()


@pytest.fixture
def existing(protection: Protection, worker: OldWorker) -> Iterator[ExistingFlow]:
    """Replication of the test's group by somebody else; it is not started yet."""
    found = ExistingFlow(protection, worker)
    protection.endpoints[CONNECTION] = worker.endpoint
    protection.changes.update(found.declared())
    found.allow()
    try:
        yield found
    finally:
        found.end()
