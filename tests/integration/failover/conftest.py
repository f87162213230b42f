"""One group is switched to and fro by the tests of this folder; a test that cannot leave it at rest takes its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.api import Lab
    from support.protection import Protection
    from support.switching import Switching


@pytest.fixture(scope="package")
def _groups(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Switching]]:
    """Return a maker of groups; the flows of all of them are deleted at the end."""
    from support.protection import Protection
    from support.switching import Switching

    made: list[Protection] = []

    def make() -> Switching:
        made.append(Protection(lab, tmp_path_factory.mktemp("group")))
        return Switching.adopt(made[-1])

    yield make
    for protection in made:
        protection.delete_flows()


@pytest.fixture(scope="package")
def _shared() -> list[Switching]:
    """Hold the group that the tests hand on, or nothing."""
    return []


@pytest.fixture
def group(_groups: Callable[[], Switching], _shared: list[Switching]) -> Switching:
    """Return a group at rest on either side; one that the test before left in a mess is not handed on."""
    if _shared and not _shared[-1].is_at_rest():
        _shared.clear()
    if not _shared:
        _shared.append(_groups())
    return _shared[-1]
