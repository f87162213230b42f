from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from lab.api import Lab
from support.existing_flow import CONNECTION, ExistingFlow, OldWorker, old_worker
from support.protection import Protection

#: Above the ports of the shared lab and of the clusters of two brokers.
_PORT = 790


@pytest.fixture(scope="session")
def worker(lab: Lab, tmp_path_factory: pytest.TempPathFactory, port_base: int, folder_end: ExitStack) -> OldWorker:
    """Somebody else's Connect worker, for the tests of this folder."""
    folder = tmp_path_factory.mktemp("old-worker")
    return folder_end.enter_context(old_worker(lab, folder, port_base + _PORT))


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
