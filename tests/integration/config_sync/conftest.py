"""One adopted group in each direction, shared by the tests of this folder: each leaves its plan without changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafka_dr.runs.clients import Clients
    from lab.api import Lab
    from support.configured_group import ConfiguredGroup


@pytest.fixture(scope="session")
def _made(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ConfiguredGroup]:
    from support.configured_group import ConfiguredGroup

    return {
        active: ConfiguredGroup.adopted(lab, tmp_path_factory.mktemp(active), active=active)
        for active in ("east", "west")
    }


@pytest.fixture(params=["east", "west"])
def each(request: pytest.FixtureRequest, _made: dict[str, ConfiguredGroup]) -> ConfiguredGroup:
    """A group that is active on the east, and one that is active on the west."""
    return _made[request.param]


@pytest.fixture
def configured(_made: dict[str, ConfiguredGroup]) -> ConfiguredGroup:
    """The group that is active on the east."""
    return _made["east"]


@pytest.fixture
def clients(configured: ConfiguredGroup) -> Iterator[Clients]:
    with configured.clients() as clients:
        yield clients
