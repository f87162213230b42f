"""The tests of this folder switch one group back and forth; a test that cannot leave it stable takes its own group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.api import Lab
    from support.switched_group import SwitchedGroup


@pytest.fixture(scope="session")
def _groups(lab: Lab, tmp_path_factory: pytest.TempPathFactory, folder_end: ExitStack) -> Callable[[], SwitchedGroup]:
    """Return a maker of groups; the flows of all of them are deleted at the end."""
    from support.protection import Protection
    from support.switched_group import SwitchedGroup

    def make() -> SwitchedGroup:
        protection = Protection(lab, tmp_path_factory.mktemp("group"))
        folder_end.callback(protection.delete_flows)
        return SwitchedGroup.adopt(protection)

    return make


@pytest.fixture(scope="session")
def _shared() -> list[SwitchedGroup]:
    """Hold the group that one test hands to the next, or nothing."""
    return []


@pytest.fixture
def group(_groups: Callable[[], SwitchedGroup], _shared: list[SwitchedGroup]) -> SwitchedGroup:
    """Return a stable group, active on either cluster; a group that a failed test left is not used again."""
    if _shared and not _shared[-1].is_at_rest():
        _shared.clear()
    if not _shared:
        _shared.append(_groups())
    return _shared[-1]


@pytest.fixture
def own_group(_groups: Callable[[], SwitchedGroup]) -> Iterator[SwitchedGroup]:
    """Give a stable group that no other test gets, for what a register keeps about a group; its flow ends with it."""
    made = _groups()
    yield made
    made.protection.delete_flows()
