from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.plain_flow import PlainFlow
from support.protection import Protection


@pytest.fixture
def flowing(protection: Protection) -> Iterator[PlainFlow]:
    """A group of the test's own, written on east; its flow is not started yet."""
    with protection.clients() as clients:
        yield PlainFlow(protection, clients)
