"""One group is switched to and fro by the tests of this folder; a test that cannot leave it at rest takes its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.api import Lab
    from support.protection import Protection
    from support.switched_group import SwitchedGroup


@pytest.fixture(scope="package")
def _groups(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], SwitchedGroup]]:
    """Return a maker of groups; the flows of all of them are deleted at the end."""
    from support.protection import Protection
    from support.switched_group import SwitchedGroup

    made: list[Protection] = []

    def make() -> SwitchedGroup:
        made.append(Protection(lab, tmp_path_factory.mktemp("group")))
        return SwitchedGroup.adopt(made[-1])

    yield make
    for protection in made:
        protection.delete_flows()


@pytest.fixture(scope="package")
def _shared() -> list[SwitchedGroup]:
    """Hold the group that the tests hand on, or nothing."""
    return []


@pytest.fixture
def group(_groups: Callable[[], SwitchedGroup], _shared: list[SwitchedGroup]) -> SwitchedGroup:
    """Return a group at rest on either side; one that the test before left in a mess is not handed on."""
    if _shared and not _shared[-1].is_at_rest():
        _shared.clear()
    if not _shared:
        _shared.append(_groups())
    return _shared[-1]
